import { setTimeout as sleep } from 'node:timers/promises';

import type { Config } from '../../config/config.ts';
import { createPostgresProbe } from '../postgres-probe.ts';
import { IDENTITY_SQL, type Server } from '../postgres-server.ts';
import { createPing } from '../probe.ts';

// How long to wait after a check of a server.
const INTERVAL_MS = 500;

/** What a server reports about itself. */
export interface StateRow {
  readonly writes: boolean;
  readonly isReplica: boolean;
  /**
   * A promotion begins a new timeline. Of a replica it is the one that it receives; null if it receives none, or
   * if the role of the gateway may not know it (pg_read_all_stats).
   */
  readonly timeline: number | null;
  readonly position: string;
  readonly version: string;
  readonly identity: string;
}

/** The state of a server that responds. */
export interface ServerState extends Omit<StateRow, 'position'> {
  /** What it has written or, as a replica, replayed. */
  readonly position: bigint;
  /** When it was asked for this state, and when it had responded, in milliseconds. */
  readonly askedAt: number;
  readonly knownAt: number;
}

/** Selects a StateRow. CASE, as PostgreSQL does not allow the functions of a primary on a replica. */
export const STATE_SQL = `SELECT current_setting('transaction_read_only') = 'off' AS "writes",
  pg_is_in_recovery() AS "isReplica",
  CASE WHEN pg_is_in_recovery() THEN (SELECT received_tli FROM pg_stat_wal_receiver)
    ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer
  END AS "timeline",
  pg_wal_lsn_diff(
    CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END,
    '0/0')::bigint::text AS "position",
  current_setting('server_version') AS "version",
  ${IDENTITY_SQL} AS "identity"`;

/** A server and what is known about it. */
export interface WatchedServer {
  readonly server: Server;
  /** Undefined if it did not respond within two seconds, or if a connection to it was lost. */
  state: ServerState | undefined;
  /** Whether it was a replica when it last responded: then no statement on it writes. */
  wasReplica: boolean;
  /** Reads the state now; concurrent calls share one statement. */
  readonly check: () => Promise<void>;
  /** Forgets the state until the next check, as a connection was lost. */
  readonly markLost: () => void;
  readonly stop: () => void;
}

/**
 * Checks a server every half second, on a connection of its own, until it is stopped. `onState` is called after
 * the state was set, with true if a check failed.
 */
export function watchServer(
  server: Server,
  config: Config,
  shouldReconnect: (state: StateRow) => boolean,
  onState: (watched: WatchedServer, hasFailed: boolean) => void,
): WatchedServer {
  const probe = createPostgresProbe<StateRow>(server.url, config, STATE_SQL, shouldReconnect);
  const ping = createPing({
    disconnect: probe.disconnect,
    read: async () => {
      const askedAt = performance.now();
      return { ...(await probe.read()), askedAt, knownAt: performance.now() };
    },
  });
  const stopping = new AbortController();
  const setState = (state: ServerState | undefined, hasFailed = false): void => {
    if (stopping.signal.aborted) return;
    watched.state = state;
    if (state) watched.wasReplica = state.isReplica;
    onState(watched, hasFailed);
  };
  const watched: WatchedServer = {
    server,
    state: undefined,
    wasReplica: false,
    check: async () => {
      const row = await ping().catch(() => undefined);
      // The log has a line when the server is no longer used.
      if (!row) return setState(undefined, true);
      return setState({ ...row, position: BigInt(row.position) });
    },
    markLost: () => setState(undefined),
    stop: () => {
      stopping.abort();
      probe.disconnect();
    },
  };
  const keepChecking = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await sleep(INTERVAL_MS, undefined, { ref: false });
      await watched.check();
    }
  };
  void keepChecking();
  return watched;
}
