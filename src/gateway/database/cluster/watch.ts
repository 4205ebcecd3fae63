import { setTimeout as sleep } from 'node:timers/promises';

import type { Config } from '../../config/config.ts';
import type { Log } from '../../telemetry/log.ts';
import { toObstacle } from '../database-errors.ts';
import { IDENTITY_SQL, PostgresServer, READ } from '../postgres-server.ts';
import { createProbe } from '../probe.ts';
import { onlyRow } from '../session.ts';

// The pause between two checks of a server.
const INTERVAL_MS = 500;

/** What a server reports about itself. */
export interface StateRow {
  readonly writes: boolean;
  readonly isReplica: boolean;
  /**
   * The timeline of a primary; a promotion starts a new timeline. For a replica, the timeline that it is receiving;
   * null if it receives none, or if the gateway's role is not allowed to see it (pg_read_all_stats).
   */
  readonly timeline: number | null;
  /** Null if the server can't say, like the replicas of Amazon Aurora. */
  readonly position: string | null;
  readonly identity: string;
}

/** The state of a server that responds. */
export interface ServerState extends Omit<StateRow, 'position'> {
  /** The log position up to which the server has written or, if it is a replica, replayed. */
  readonly position: bigint;
  /** When the check was sent, and when its response arrived, in milliseconds. */
  readonly askedAt: number;
  readonly knownAt: number;
}

/** Selects a StateRow. CASE avoids functions that fail on a replica. */
const STATE_SQL = `SELECT current_setting('transaction_read_only') = 'off' AS "writes",
  pg_is_in_recovery() AS "isReplica",
  CASE WHEN pg_is_in_recovery() THEN (SELECT received_tli FROM pg_stat_wal_receiver)
    ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer
  END AS "timeline",
  pg_wal_lsn_diff(
    CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END,
    '0/0')::bigint::text AS "position",
  ${IDENTITY_SQL} AS "identity"`;

interface Observer {
  /** Whether the server's address may lead to another server by now. If so, the next check reconnects. */
  mayLeadElsewhere(server: WatchedServer, state: StateRow): boolean;
  /** Called after a server's state has been set. */
  onState(server: WatchedServer): void;
}

/** A server that is checked every half second, on a separate connection, until it is closed. */
export class WatchedServer extends PostgresServer {
  /** Undefined before the first check, and if the last check failed, for example because it timed out. */
  state: ServerState | undefined;
  /** The error of the last failed check. */
  failure: unknown;
  readonly #log: Log;
  readonly #observer: Observer;
  readonly #probe: PostgresServer;
  #checking: Promise<void> | undefined;
  #isStopped = false;

  constructor(url: string, config: Config, log: Log, observer: Observer) {
    super(url, config, log);
    this.#log = log;
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
      if (row.position === null) throw new Error('pg_last_wal_replay_lsn() is null');
      if (this.#observer.mayLeadElsewhere(this, row)) this.#probe.abort();
      this.state = { ...row, position: BigInt(row.position), askedAt, knownAt: performance.now() };
    } catch (error) {
      // Reads that wait for a lost replica can run on another server. Writes that wait for a lost primary can't, so
      // they keep waiting.
      if (this.state?.isReplica) this.abort();
      // Later failures are not logged here: replicas.ts and primary.ts log when they stop using the server.
      if (!this.state && !this.failure) {
        this.#log.warn(`${this.name} cannot be used: ${toObstacle(error)}.`);
      }
      this.failure = error;
      this.state = undefined;
    }
    if (!this.#isStopped) this.#observer.onState(this);
  }
}
