import type { Registry } from 'prom-client';

import { codeOf } from '../contract/gateway-error.ts';
import type { PoolUse } from './connection-pool.ts';
import { isServerFault } from './database-errors.ts';
import { createDatabaseMetrics, type Readiness } from './database-metrics.ts';
import { FairQueue } from './fair-queue.ts';
import type { Notifications } from './notifications.ts';
import type { Recipient } from './recipient.ts';
import {
  createSession,
  repeatAfterConflict,
  type Session,
  type Statement,
  type TransactionRunner,
} from './session.ts';
import { TextSamples } from './text-samples.ts';
import type { WatchedServer } from './watched-server.ts';

const DISK_FULL = '53100';
// After a write has failed because a disk was full, how long the database counts as read-only: longer than load balancers
// and Prometheus commonly wait between two checks.
const FULL_DISK_MS = 60_000;

/** What the embedded database and PostgreSQL have in common. */
interface Connected {
  /** The kind of database and its location, without the password, for the log. */
  readonly description: string;
  /** Whether PostgreSQL caches the plan of a statement with `planning: 'once'`. */
  readonly keepsPlans: boolean;
  /** How many bytes of JSON a statement may produce for one request. */
  readonly maxJsonBytes: number;
  /** Returns how each connection pool is used; the embedded database has none. */
  readonly poolUse?: (() => PoolUse[]) | undefined;
  /** Notifications between gateways, if the connection supports them. */
  readonly notifications?: Notifications | undefined;
  /** Rejects if the database does not respond; PostgreSQL has two seconds for each statement. */
  readonly ping: () => Promise<Readiness>;
}

export interface Driver extends Connected {
  readonly runner: TransactionRunner;
  /** How many heavy statements may run at the same time, so that light statements find a free connection. */
  readonly maxHeavy: number;
  /** What DATABASE_REPLICA_URL leads to: a replica, or a load balancer in front of several. */
  readonly replica?: WatchedServer | undefined;
  readonly disconnect: () => Promise<void>;
}

/**
 * A migrated database: embedded, or on PostgreSQL. A copy with another `query`, `write` or `transaction` sends its
 * statements in another way: for a recipient, to a replica, or not at all.
 */
export interface Database extends Session, Connected {
  /** Runs `work` in one transaction, and retries it after a conflict. `work` must use only the session that it receives. */
  readonly transaction: <Result>(
    work: (session: Session) => Promise<Result>,
    recipient?: Recipient,
  ) => Promise<Result>;
  /** Like `query`, but it may find older rows, such as those of a replica. Undefined if it would find the same rows. */
  readonly queryOlder: Session['query'] | undefined;
  readonly samples: TextSamples;
  readonly registry: Registry;
  readonly close: () => Promise<void>;
}

/**
 * Returns a function that runs each read on the replica or, if the replica is lost or could not run it, on the primary.
 * If the primary can't run it either, the read runs on the replica again: after a failover, its address may lead to
 * another one.
 */
const queryReplicaFirst =
  (
    replica: WatchedServer,
    onReplica: Session['query'],
    onPrimary: Session['query'],
  ): Session['query'] =>
  async (...read) => {
    if (!replica.isLost()) {
      try {
        return await onReplica(...read);
      } catch (error) {
        if (!isServerFault(error) && !replica.isLost()) throw error;
      }
    }
    try {
      return await onPrimary(...read);
    } catch (error) {
      if (!isServerFault(error)) throw error;
      return onReplica(...read);
    }
  };

export function createDatabase(driver: Driver): Database {
  const { runner, maxHeavy, notifications, replica } = driver;
  let readOnlyUntil = 0;
  /** Rejects with the error of a write, and remembers whether a disk was full. */
  const rememberFullDisk = (error: unknown): never => {
    if (codeOf(error) === DISK_FULL) readOnlyUntil = performance.now() + FULL_DISK_MS;
    throw error;
  };
  const ping = async (): Promise<Readiness> => {
    const { writes } = await driver.ping();
    return { writes: writes && performance.now() > readOnlyUntil };
  };
  const { registry, observe } = createDatabaseMetrics(ping, driver.poolUse, replica);
  const heavy = new FairQueue({ concurrency: maxHeavy });
  const { query, write } = createSession(runner, { observe, heavy, repeats: true });
  const onReplica =
    replica &&
    createSession(replica.pool, { observe, heavy: new FairQueue({ concurrency: maxHeavy }) }).query;
  return {
    ...driver,
    ping,
    query,
    write: <Row>(statement: Statement, recipient?: Recipient) =>
      write<Row>(statement, recipient).catch(rememberFullDisk),
    transaction: <Result>(work: (session: Session) => Promise<Result>, recipient?: Recipient) =>
      repeatAfterConflict(() =>
        runner.transaction(
          (inTransaction) => work(createSession(inTransaction, { observe, heavy, recipient })),
          recipient,
        ),
      ).catch(rememberFullDisk),
    queryOlder: replica && onReplica && queryReplicaFirst(replica, onReplica, query),
    samples: new TextSamples(query),
    registry,
    close: async () => {
      await notifications?.close();
      await driver.disconnect();
    },
  };
}
