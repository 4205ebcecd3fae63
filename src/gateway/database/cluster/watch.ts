import { setTimeout as sleep } from 'node:timers/promises';

import type { Config } from '../../config/config.ts';
import { toError } from '../../contract/gateway-error.ts';
import { IDENTITY_SQL, type PostgresServer } from '../postgres-server.ts';
import { Probe } from '../probe.ts';

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
const STATE_SQL = `SELECT current_setting('transaction_read_only') = 'off' AS "writes",
  pg_is_in_recovery() AS "isReplica",
  CASE WHEN pg_is_in_recovery() THEN (SELECT received_tli FROM pg_stat_wal_receiver)
    ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer
  END AS "timeline",
  pg_wal_lsn_diff(
    CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END,
    '0/0')::bigint::text AS "position",
  current_setting('server_version') AS "version",
  ${IDENTITY_SQL} AS "identity"`;

/** Learns what a server reports. */
interface Observer {
  /** Whether the address of a server may lead to another one by now, which should be asked. */
  mayLeadElsewhere(server: PostgresServer, state: StateRow): boolean;
  /** Called after the state of a server was set. */
  onState(watched: WatchedServer): void;
}

/** A server that is checked every half second, on a connection of its own, until it is stopped. */
export class WatchedServer {
  readonly server: PostgresServer;
  /** Undefined if it did not respond within two seconds, or if a connection to it was lost. */
  state: ServerState | undefined;
  /** Whether it was a replica when it last responded: then no statement on it writes. */
  wasReplica = false;
  /** Why it did not respond to the last check. */
  failure: unknown;
  readonly #observer: Observer;
  readonly #probe: Probe<StateRow>;
  #checking: Promise<void> | undefined;
  #isStopped = false;

  constructor(server: PostgresServer, config: Config, observer: Observer) {
    this.server = server;
    this.#observer = observer;
    this.#probe = new Probe(server.url, config, STATE_SQL, (state) =>
      observer.mayLeadElsewhere(server, state),
    );
    void this.#keepChecking();
  }

  /** Reads the state now; concurrent calls share one statement. */
  check(): Promise<void> {
    this.#checking ??= this.#checkOnce().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  /** Forgets the state until the next check, as a connection was lost. */
  markLost(): void {
    this.#setState(undefined);
  }

  stop(): void {
    this.#isStopped = true;
    this.#probe.close();
  }

  async #keepChecking(): Promise<void> {
    while (!this.#isStopped) {
      await sleep(INTERVAL_MS, undefined, { ref: false });
      if (!this.#isStopped) await this.check();
    }
  }

  async #checkOnce(): Promise<void> {
    const askedAt = performance.now();
    try {
      const row = await this.#probe.read();
      this.failure = undefined;
      this.#setState({
        ...row,
        position: BigInt(row.position),
        askedAt,
        knownAt: performance.now(),
      });
    } catch (error) {
      if (this.#isStopped) return;
      // The log has a line when the server is no longer used.
      this.failure = toError(error).cause;
      this.#setState(undefined);
      // What waits for a lost replica can be read from another server; a write can't be repeated.
      if (this.wasReplica) this.server.abort();
    }
  }

  #setState(state: ServerState | undefined): void {
    if (this.#isStopped) return;
    this.state = state;
    if (state) this.wasReplica = state.isReplica;
    this.#observer.onState(this);
  }
}
