import { setTimeout as sleep } from 'node:timers/promises';

import type { Config } from '../../config/config.ts';
import type { Log } from '../../telemetry/log.ts';
import { createProbe, IDENTITY_SQL, PostgresServer, READ } from '../postgres-server.ts';
import { onlyRow } from '../session.ts';

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
  ${IDENTITY_SQL} AS "identity"`;

/** Learns what a server reports. */
interface Observer {
  /** Whether the address of a server may lead to another one by now, which should be asked. */
  mayLeadElsewhere(server: WatchedServer, state: StateRow): boolean;
  /** Called after the state of a server was set. */
  onState(server: WatchedServer): void;
}

/** A server that is checked every half second, on a connection of its own, until it is stopped. */
export class WatchedServer extends PostgresServer {
  /** Undefined if it did not respond within two seconds. */
  state: ServerState | undefined;
  /** Why it did not respond to the last check. */
  failure: unknown;
  readonly #observer: Observer;
  readonly #probe: PostgresServer;
  #checking: Promise<void> | undefined;
  #isStopped = false;

  constructor(url: string, config: Config, log: Log, observer: Observer) {
    super(url, config, log);
    this.#observer = observer;
    this.#probe = createProbe(url, config, log);
    void this.#keepChecking();
  }

  /** Reads the state now; concurrent calls share one statement. */
  check(): Promise<void> {
    this.#checking ??= this.#checkOnce().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  override async close(): Promise<void> {
    this.#isStopped = true;
    this.#probe.abort();
    await Promise.all([this.#probe.close(), super.close()]);
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
      const row = onlyRow(await this.#probe.run<StateRow>(STATE_SQL, [], READ));
      if (this.#observer.mayLeadElsewhere(this, row)) this.#probe.abort();
      this.state = { ...row, position: BigInt(row.position), askedAt, knownAt: performance.now() };
    } catch (error) {
      // What waits for a lost replica can be read from another server; a write can't be repeated.
      if (this.state?.isReplica) this.abort();
      // The log has a line when the server is no longer used.
      this.failure = error;
      this.state = undefined;
    }
    if (!this.#isStopped) this.#observer.onState(this);
  }
}
