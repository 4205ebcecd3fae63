import type { SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import pLimit from 'p-limit';
import type { Registry } from 'prom-client';

import {
  createDatabaseMetrics,
  type DatabaseMetrics,
  type PoolUse,
} from '../telemetry/database-metrics.ts';
import type { Log } from '../telemetry/log.ts';
import type { Replicas } from './cluster/replicas.ts';
import type { Model, PrismaLike } from './model.ts';
import type { Notifications } from './notifications.ts';
import { createPing, type Probe, type Readiness } from './probe.ts';
import { createRareTexts, type IsRare, neverRare } from './rare-texts.ts';
import { type Recipient, RecipientGone } from './recipient.ts';
import type { Load, Planning, Run, Session, Statement } from './session.ts';

/**
 * A migrated database: embedded, or a PostgreSQL server.
 *
 * Reads, and writes in a transaction, are SQL that the driver runs: it reads rows several times as fast
 * as Prisma, and one statement can serve all requests that load at the same time (see loaders.ts).
 * Prisma's model API is for a write of one row outside a transaction where it is shorter than SQL, such
 * as an update of only the given fields.
 */
export interface Database<Client extends PrismaLike = PrismaLike>
  extends
    Session,
    Pick<Driver, 'description' | 'keepsPlans' | 'maxJsonBytes' | 'poolUse' | 'notifications'> {
  readonly prisma: Client;
  /** Runs `work` in one transaction, and retries it after a conflict; `work` must use only its session. */
  readonly transaction: <Result>(work: (session: Session) => Promise<Result>) => Promise<Result>;
  /** Returns what is rare in the names of a table, so that PostgreSQL need not plan a search for it again. */
  readonly isRareIn: (table: string) => IsRare;
  /** Its replicas, if reads may use any. */
  readonly replicas?: Replicas | undefined;
  /** Its metrics. */
  readonly registry: Registry;
  /** Rejects unless the database responds within two seconds; independent of the connection pool. */
  readonly ping: () => Promise<Readiness>;
  readonly close: () => Promise<void>;
}

/** What a Database is created from. */
export interface Driver {
  readonly adapter: SqlDriverAdapterFactory;
  readonly run: Run;
  /**
   * Runs `work` between BEGIN and COMMIT, and again after a conflict; rejects unless PostgreSQL has committed.
   */
  readonly transaction: <Result>(work: (run: Run) => Promise<Result>) => Promise<Result>;
  /** The kind of database and its place, for the log; without password. */
  readonly description: string;
  /** Whether PostgreSQL keeps the plan of a statement that is planned once. */
  readonly keepsPlans: boolean;
  /** How many bytes of JSON one statement may write for a request. */
  readonly maxJsonBytes: number;
  /** How many heavy statements may run at the same time, so that light ones always find a free connection. */
  readonly maxHeavy: number;
  /** Returns how the connection pool is used; the embedded database has no pool. */
  readonly poolUse?: (() => PoolUse) | undefined;
  /** Adds the metrics of several servers to a registry. */
  readonly reportServers?: (registry: Registry) => void;
  readonly createReplicas?: (toSession: (run: Run) => Session) => Replicas;
  /** Notifications between its gateways, if it has them. */
  readonly notifications?: Notifications | undefined;
  readonly probe: Probe<Readiness>;
  readonly disconnect: () => Promise<void>;
}

/** Observes a statement: in the metrics and, at log level debug, in the log. */
type Observe = <Result>(load: Load, sql: string, send: () => Promise<Result>) => Promise<Result>;

function createObserve({ timeStatement }: DatabaseMetrics, log: Log): Observe {
  if (!log.isLevelEnabled('debug')) return (load, _sql, send) => timeStatement(load, send);
  return async (load, sql, send) => {
    const start = performance.now();
    try {
      return await timeStatement(load, send);
    } finally {
      log.debug({ sql, ms: performance.now() - start }, 'SQL');
    }
  };
}

/** Observes the statements of Prisma's client. */
function observeAdapter(adapter: Driver['adapter'], observe: Observe): Driver['adapter'] {
  const connect = adapter.connect.bind(adapter);
  adapter.connect = async () => {
    const connection = await connect();
    const queryRaw = connection.queryRaw.bind(connection);
    const executeRaw = connection.executeRaw.bind(connection);
    connection.queryRaw = (query) => observe('light', query.sql, () => queryRaw(query));
    connection.executeRaw = (query) => observe('light', query.sql, () => executeRaw(query));
    return connection;
  };
  return adapter;
}

/** Creates a Database from a driver. At log level debug it logs every statement. */
export function createDatabase<Client extends PrismaLike>(
  { createPrisma }: Model<Client>,
  driver: Driver,
  log: Log,
): Database<Client> {
  const { maxHeavy, notifications } = driver;
  const ping = createPing(driver.probe);
  const metrics = createDatabaseMetrics(ping, driver.poolUse);
  driver.reportServers?.(metrics.registry);
  const observe = createObserve(metrics, log);
  const prisma = createPrisma(observeAdapter(driver.adapter, observe));
  const toSession = (run: Run, limit = pLimit(maxHeavy)): Session => ({
    query: <Row>(
      { text, values }: Statement,
      planning: Planning = 'once',
      load: Load = 'light',
      recipient?: Recipient,
    ) => {
      const start = (): Promise<Row[]> =>
        recipient?.destroyed
          ? Promise.reject(new RecipientGone())
          : observe(load, text, () =>
              run<Row>(text, values, { planning, writes: false, recipient }),
            );
      return load === 'heavy' ? limit(start) : start();
    },
    write: ({ text, values }) =>
      observe('light', text, () => run(text, values, { planning: 'once', writes: true })),
  });
  const limit = pLimit(maxHeavy);
  const session = toSession(driver.run, limit);
  return {
    ...driver,
    ...session,
    isRareIn: driver.keepsPlans ? createRareTexts(session, log) : () => neverRare,
    replicas: driver.createReplicas?.(toSession),
    prisma,
    transaction: (work) => driver.transaction((run) => work(toSession(run, limit))),
    registry: metrics.registry,
    ping,
    close: async () => {
      await notifications?.close();
      await prisma.$disconnect();
      await driver.disconnect();
    },
  };
}
