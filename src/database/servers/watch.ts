import { setTimeout as sleep } from 'node:timers/promises';

import type { Config } from '../../config/config.ts';
import { createPostgresProbe } from '../postgres-probe.ts';
import { createPing } from '../probe.ts';
import type { Position } from './position.ts';
import { ADDRESS_SQL, type Server } from './server.ts';

// How long to wait after a check of a server.
const INTERVAL_MS = 500;

/** What a server reports about itself. */
interface StateRow {
  readonly writes: boolean;
  readonly isReplica: boolean;
  readonly timeline: number;
  readonly position: string;
  readonly version: string;
  /** The address and port of the server behind a balancer; null on a Unix domain socket. */
  readonly address: string | null;
}

/** The state of a server that responds. */
interface ServerState extends Omit<StateRow, 'position'> {
  /** What it has written or, as a replica, replayed. */
  readonly position: Position;
}

// CASE, as PostgreSQL does not allow the functions of a primary on a replica. A promotion begins a new timeline.
const STATE_SQL = `SELECT current_setting('transaction_read_only') = 'off' AS "writes",
  pg_is_in_recovery() AS "isReplica",
  CASE WHEN pg_is_in_recovery() THEN 0
    ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer
  END AS "timeline",
  pg_wal_lsn_diff(
    CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END,
    '0/0')::bigint::text AS "position",
  current_setting('server_version') AS "version",
  ${ADDRESS_SQL} AS "address"`;

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

/** What to do after the state of a server was set; `isSilent` if it did not respond to a check. */
type OnState = (watched: WatchedServer, isSilent: boolean) => void;

/**
 * Checks a server every half second, on a connection of its own, until it is stopped. If `mayMove`, its
 * address is that of a proxy or a DNS name which later leads to another server.
 */
export function watchServer(
  server: Server,
  config: Config,
  mayMove: boolean,
  onState: OnState,
): WatchedServer {
  const probe = createPostgresProbe<StateRow>(server.url, config, {
    sql: STATE_SQL,
    shouldReconnect: ({ writes }) => mayMove && !writes,
  });
  const ping = createPing(probe);
  const stopping = new AbortController();
  const setState = (state: ServerState | undefined, isSilent = false): void => {
    if (stopping.signal.aborted) return;
    watched.state = state;
    if (state) watched.wasReplica = state.isReplica;
    onState(watched, isSilent);
  };
  const watched: WatchedServer = {
    server,
    state: undefined,
    wasReplica: false,
    check: async () => {
      try {
        const { position, ...state } = await ping();
        setState({ ...state, position: BigInt(position) });
      } catch {
        // The log has a line when the server is no longer used.
        setState(undefined, true);
      }
    },
    markLost: () => setState(undefined),
    stop: () => {
      stopping.abort();
      probe.disconnect();
    },
  };
  const keepChecking = async (): Promise<void> => {
    for (;;) {
      await sleep(INTERVAL_MS, undefined, { ref: false, signal: stopping.signal });
      await watched.check();
    }
  };
  keepChecking().catch(() => {});
  return watched;
}
