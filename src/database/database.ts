import type { Registry } from 'prom-client';

import { createDatabaseMetrics, type DatabaseMetrics } from '../telemetry/database-metrics.ts';
import type { Log } from '../telemetry/log.ts';
import type { PoolUse } from '../telemetry/metrics.ts';
import { isConflict } from './errors.ts';
import { type Prisma, PrismaClient } from './generated/prisma/client.ts';
import { createHeavyQueue, type HeavyLimits } from './heavy-queue.ts';
import type { Notifications } from './notifications.ts';
import { createPing, type Probe, type Readiness } from './probe.ts';
import { createRareTexts, type IsRare, neverRare } from './rare-texts.ts';
import { type Recipient, RecipientGone } from './recipient.ts';
import { retryConflicts } from './retry.ts';
import type { Replicas } from './servers/replicas.ts';
import type { Load, Planning, Run, Session, Statement } from './session.ts';

/**
 * A migrated database: embedded, or a PostgreSQL server.
 *
 * Reads, and writes in a transaction, are SQL that the driver runs: it reads rows several times as fast
 * as Prisma, and one statement can serve all requests that load at the same time (see loaders.ts).
 * Prisma's model API is for a write of one row outside a transaction where it is shorter than SQL, such
 * as an update of only the given fields.
 */
export interface Database extends Session {
  readonly prisma: PrismaClient;
  /** The kind of database and its place, for the log; without password. */
  readonly description: string;
  /** Runs `work` in one transaction, and retries it after a conflict; `work` must use only its session. */
  readonly transaction: <Result>(work: (session: Session) => Promise<Result>) => Promise<Result>;
  /** Whether PostgreSQL keeps the plan of a statement that is planned once. */
  readonly keepsPlans: boolean;
  /** How many bytes of JSON one statement may write for a request. */
  readonly maxJsonBytes: number;
  /** Returns what is rare in the names of a table, so that PostgreSQL need not plan a search for it again. */
  readonly isRareIn: (table: string) => IsRare;
  /** Returns how the connection pool is used; the embedded database has no pool. */
  readonly poolUse?: () => PoolUse;
  /** Its replicas, if reads may use any. */
  readonly replicas?: Replicas;
  /** Notifications between its gateways, if it has them. */
  readonly notifications?: Notifications;
  /** Its metrics, without those of the pool. */
  readonly registry: Registry;
  /** Rejects unless the database responds within two seconds; independent of the connection pool. */
  readonly ping: () => Promise<Readiness>;
  readonly close: () => Promise<void>;
}

/** What a Database is created from. */
export interface Driver {
  readonly adapter: NonNullable<Prisma.PrismaClientOptions['adapter']>;
  readonly run: Run;
  /** Runs `work` between BEGIN and COMMIT; rejects unless PostgreSQL has committed. */
  readonly transaction: <Result>(work: (run: Run) => Promise<Result>) => Promise<Result>;
  readonly description: string;
  readonly keepsPlans: boolean;
  readonly maxJsonBytes: number;
  /** How many heavy statements may run at the same time, and how long one may wait. */
  readonly heavyLimits: HeavyLimits;
  readonly poolUse?: () => PoolUse;
  /** Adds the metrics of several servers to a registry. */
  readonly reportServers?: (registry: Registry) => void;
  readonly createReplicas?: (toSession: (run: Run) => Session) => Replicas;
  readonly notifications?: Notifications;
  readonly probe: Probe<Readiness>;
  readonly disconnect: () => Promise<void>;
}

/** Returns a Run that logs each statement. */
const withLog =
  (run: Run, log: Log): Run =>
  async (text, values, options) => {
    const start = performance.now();
    try {
      return await run(text, values, options);
    } finally {
      log.debug({ sql: text, ms: performance.now() - start }, 'SQL');
    }
  };

/** Times the statements of Prisma's model API: writes of one row. */
function timeStatementsOf(adapter: Driver['adapter'], { timeStatement }: DatabaseMetrics): void {
  const connect = adapter.connect.bind(adapter);
  adapter.connect = async () => {
    const connection = await connect();
    const queryRaw = connection.queryRaw.bind(connection);
    const executeRaw = connection.executeRaw.bind(connection);
    connection.queryRaw = (statement) => timeStatement('light', () => queryRaw(statement));
    connection.executeRaw = (statement) => timeStatement('light', () => executeRaw(statement));
    return connection;
  };
}

/** Creates Prisma's client, for its model API. */
function createPrisma(adapter: Driver['adapter'], log: Log): PrismaClient {
  const prisma = new PrismaClient({
    adapter,
    log: [{ emit: 'event', level: 'query' }],
    // Other formats put the values of a call into the error message.
    errorFormat: 'minimal',
  });
  if (log.isLevelEnabled('debug')) {
    prisma.$on('query', ({ query, duration }) => log.debug({ sql: query, ms: duration }, 'SQL'));
  }
  return prisma;
}

/** Creates a Database from a driver. At log level debug it logs every statement. */
export function createDatabase(driver: Driver, log: Log): Database {
  const { adapter, description, keepsPlans, maxJsonBytes, heavyLimits, poolUse } = driver;
  const { notifications, probe, disconnect } = driver;
  const ping = createPing(probe);
  const metrics = createDatabaseMetrics(ping);
  driver.reportServers?.(metrics.registry);
  timeStatementsOf(adapter, metrics);
  const prisma = createPrisma(adapter, log);
  const toSession = (driverRun: Run, runHeavy = createHeavyQueue(heavyLimits)): Session => {
    const run = log.isLevelEnabled('debug') ? withLog(driverRun, log) : driverRun;
    return {
      query: <Row>(
        { text, values }: Statement,
        planning: Planning = 'once',
        load: Load = 'light',
        recipient?: Recipient,
      ) => {
        const start = (): Promise<Row[]> =>
          recipient?.destroyed
            ? Promise.reject(new RecipientGone())
            : metrics.timeStatement(load, () =>
                run<Row>(text, values, { planning, writes: false, recipient }),
              );
        return load === 'heavy' ? runHeavy(start) : start();
      },
      write: ({ text, values }) =>
        metrics.timeStatement('light', () => run(text, values, { planning: 'once', writes: true })),
    };
  };
  const runHeavy = createHeavyQueue(heavyLimits);
  const session = toSession(driver.run, runHeavy);
  return {
    ...session,
    isRareIn: keepsPlans ? createRareTexts(session, log) : () => neverRare,
    ...(driver.createReplicas && { replicas: driver.createReplicas(toSession) }),
    prisma,
    description,
    keepsPlans,
    maxJsonBytes,
    ...(poolUse && { poolUse }),
    ...(notifications && { notifications }),
    transaction: (work) =>
      retryConflicts(() => driver.transaction((run) => work(toSession(run, runHeavy))), isConflict),
    registry: metrics.registry,
    ping,
    close: async () => {
      await notifications?.close();
      await prisma.$disconnect();
      await disconnect();
    },
  };
}
