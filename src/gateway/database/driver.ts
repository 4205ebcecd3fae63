import type { Notifications } from './notifications.ts';
import type { Recipient } from './recipient.ts';
import type { Runner } from './session.ts';

/** The state of a database that responds. */
export interface Readiness {
  /**
   * Whether it accepts writes: a replica, a read-only database, one with a full disk and one whose commits wait do not.
   */
  readonly writes: boolean;
}

/** How the connections of a pool are used. */
export interface PoolUse {
  /** The maximum number of connections. */
  readonly max: number;
  /** Open connections, in use or idle. */
  readonly total: number;
  readonly idle: number;
  /** Statements and transactions waiting for a connection. */
  readonly waiting: number;
}

/** Runs statements, individually or in a transaction. */
export interface TransactionRunner extends Runner {
  /** Runs `work` between BEGIN and COMMIT; rejects unless PostgreSQL has committed. */
  transaction<Result>(
    work: (runner: Runner) => Promise<Result>,
    recipient?: Recipient,
  ): Promise<Result>;
}

/** What DATABASE_REPLICA_URL leads to: a replica, or a load balancer in front of several. */
export interface Replica extends Runner {
  /** Host and port. */
  readonly name: string;
  /** Whether it did not respond to the last check. */
  isLost(): boolean;
  poolUse(): PoolUse;
  close(): Promise<void>;
}

export interface Driver {
  readonly runner: TransactionRunner;
  /** The kind of database and its location, without the password, for the log. */
  readonly description: string;
  /** Whether PostgreSQL caches the plan of a statement with `planning: 'once'`. */
  readonly keepsPlans: boolean;
  /** How many bytes of JSON a statement may produce for one request. */
  readonly maxJsonBytes: number;
  /** How many heavy statements may run at the same time, so that light statements find a free connection. */
  readonly maxHeavy: number;
  /** Returns how the connection pools are used, added up; the embedded database has none. */
  readonly poolUse?: (() => PoolUse) | undefined;
  readonly replica?: Replica | undefined;
  /** Notifications between gateways, if the connection supports them. */
  readonly notifications?: Notifications | undefined;
  /** Rejects if the database does not respond; PostgreSQL has two seconds for each statement. */
  readonly ping: () => Promise<Readiness>;
  readonly disconnect: () => Promise<void>;
}
