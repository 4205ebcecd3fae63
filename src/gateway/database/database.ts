import type { Registry } from 'prom-client';

import { codeOf } from '../contract/gateway-error.ts';
import type { Log } from '../telemetry/log.ts';
import { repeatAfterConflict } from './conflicts.ts';
import { isServerFault } from './database-errors.ts';
import { createDatabaseMetrics } from './database-metrics.ts';
import type { Driver, Readiness, Replica } from './driver.ts';
import { FairQueue } from './fair-queue.ts';
import type { Recipient } from './recipient.ts';
import { createSession, type ObserveStatement, type Session, type Statement } from './session.ts';

const DISK_FULL = '53100';
// After a write has failed because a disk was full, how long the database counts as read-only: longer than load balancers
// and Prometheus commonly wait between two checks.
const FULL_DISK_MS = 60_000;

/**
 * A migrated database: embedded, or on PostgreSQL. A copy with another `query`, `write` or `transaction` sends its
 * statements in another way: for a recipient, to a replica, or not at all.
 */
export interface Database
  extends
    Session,
    Pick<
      Driver,
      'description' | 'keepsPlans' | 'maxJsonBytes' | 'notifications' | 'ping' | 'poolUse'
    > {
  /** Runs `work` in one transaction, and retries it after a conflict. `work` must use only the session that it receives. */
  readonly transaction: <Result>(
    work: (session: Session) => Promise<Result>,
    recipient?: Recipient,
  ) => Promise<Result>;
  /** Like `query`, but it may find older rows, such as those of a replica. Undefined if it would find the same rows. */
  readonly queryOlder: Session['query'] | undefined;
  /** The metrics of the database. */
  readonly registry: Registry;
  readonly close: () => Promise<void>;
}

/**
 * Returns a function that runs each read on the replica or, if the replica is lost or could not run it, on the primary.
 * If the primary can't run it either, the read runs on the replica again: after a failover, its address may lead to
 * another one.
 */
const queryReplicaFirst =
  (replica: Replica, onReplica: Session['query'], onPrimary: Session['query']): Session['query'] =>
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

/** Also logs each statement when it ends. */
const logStatements =
  (log: Log, startStatement: ObserveStatement): ObserveStatement =>
  (load, sql) => {
    const start = performance.now();
    const end = startStatement(load, sql);
    return (result) => {
      end(result);
      log.debug({ sql, ms: performance.now() - start }, 'SQL');
    };
  };

/** Creates a Database from a driver. At log level debug, it logs the statements of its sessions. */
export function createDatabase(driver: Driver, log: Log): Database {
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
  const { registry, startStatement } = createDatabaseMetrics(ping, driver.poolUse, replica);
  const observe = log.isLevelEnabled('debug') ? logStatements(log, startStatement) : startStatement;
  const heavy = new FairQueue({ concurrency: maxHeavy });
  const { query, write } = createSession(runner, { observe, heavy, repeat: repeatAfterConflict });
  const onReplica =
    replica &&
    createSession(replica, { observe, heavy: new FairQueue({ concurrency: maxHeavy }) }).query;
  return {
    ...driver,
    ping,
    query,
    write: <Row>(statement: Statement, recipient?: Recipient) =>
      write<Row>(statement, recipient).catch(rememberFullDisk),
    transaction: <Result>(work: (session: Session) => Promise<Result>, recipient?: Recipient) => {
      const run = (): Promise<Result> =>
        runner.transaction(
          (inTransaction) => work(createSession(inTransaction, { observe, heavy, recipient })),
          recipient,
        );
      return run()
        .catch((error: unknown) => repeatAfterConflict(error, run))
        .catch(rememberFullDisk);
    },
    queryOlder: replica && onReplica && queryReplicaFirst(replica, onReplica, query),
    registry,
    close: async () => {
      await notifications?.close();
      await driver.disconnect();
    },
  };
}
