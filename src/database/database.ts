import type { Log } from '../telemetry/log.ts';
import type { PoolUse } from '../telemetry/metrics.ts';
import { retryConflicts } from './retry.ts';
import { isConflict } from './errors.ts';
import { type Prisma, PrismaClient } from './generated/prisma/client.ts';
import { createHeavyLane } from './heavy-lane.ts';
import { createPing, type Probe, type Readiness } from './probe.ts';

/**
 * How PostgreSQL plans a statement: `once` for all values, or for its values `each` time, which pays
 * if the number of rows depends on them.
 */
export type Planning = 'once' | 'each';

/** How much a statement reads: the rows that an index finds, or a large part of the store. */
type Load = 'light' | 'heavy';

/** Runs statements: each on its own, or all in one transaction. */
export interface Session {
  /** Runs one statement; parameters are bound, never spliced. */
  readonly query: <Row>(statement: Prisma.Sql, planning?: Planning, load?: Load) => Promise<Row[]>;
}

/**
 * The database of the store, embedded or not, migrated and ready.
 *
 * Statements are SQL that goes to the driver, which reads rows several times as fast as Prisma. The
 * exception is a write of one row outside a transaction that Prisma's model API says more plainly, as
 * an update of the fields that were given.
 */
export interface Database extends Session {
  readonly prisma: PrismaClient;
  /** What it is and where, for people; no password. */
  readonly description: string;
  /** Runs `work` in one transaction, again after a conflict; `work` must use only its session. */
  readonly transaction: <Result>(work: (session: Session) => Promise<Result>) => Promise<Result>;
  /** How its pool of connections is used; the embedded one has none. */
  readonly poolUse?: () => PoolUse;
  /** Checks that the database responds, within two seconds, however busy its connections are. */
  readonly ping: () => Promise<Readiness>;
  readonly close: () => Promise<void>;
}

/** Runs one statement; TYPE_PARSERS read its values. */
export type Run = <Row>(text: string, values: unknown[], planning: Planning) => Promise<Row[]>;

/** What a Database is created from. */
interface Driver {
  readonly adapter: NonNullable<Prisma.PrismaClientOptions['adapter']>;
  readonly run: Run;
  /** Runs `work` between BEGIN and COMMIT; rejects unless PostgreSQL has committed. */
  readonly transaction: <Result>(work: (run: Run) => Promise<Result>) => Promise<Result>;
  readonly description: string;
  /** How many heavy statements may run at once, and how long one may wait for its turn. */
  readonly heavyLimits: { readonly atOnce: number; readonly maxWaitMs: number };
  readonly poolUse?: () => PoolUse;
  readonly probe: Probe;
  readonly disconnect: () => Promise<void>;
}

/** Logs each statement that is run. */
const logged =
  (run: Run, log: Log): Run =>
  async (text, values, planning) => {
    const start = performance.now();
    try {
      return await run(text, values, planning);
    } finally {
      log.debug({ sql: text, ms: performance.now() - start }, 'SQL');
    }
  };

/** Creates a Database from a driver; at log level debug every statement is logged. */
export function createDatabase(driver: Driver, log: Log): Database {
  const { adapter, description, heavyLimits, poolUse, probe, disconnect } = driver;
  const prisma = new PrismaClient({
    adapter,
    log: [{ emit: 'event', level: 'query' }],
    // The messages of the other formats contain the values of a call.
    errorFormat: 'minimal',
  });
  const isDebugging = log.isLevelEnabled('debug');
  if (isDebugging) {
    prisma.$on('query', ({ query, duration }) => log.debug({ sql: query, ms: duration }, 'SQL'));
  }
  const runHeavy = createHeavyLane(heavyLimits);
  const toSession = (driverRun: Run): Session => {
    const run = isDebugging ? logged(driverRun, log) : driverRun;
    return {
      query: <Row>(
        { text, values }: Prisma.Sql,
        planning: Planning = 'once',
        load: Load = 'light',
      ) =>
        load === 'heavy'
          ? runHeavy(() => run<Row>(text, values, planning))
          : run<Row>(text, values, planning),
    };
  };
  return {
    ...toSession(driver.run),
    prisma,
    description,
    ...(poolUse && { poolUse }),
    transaction: (work) =>
      retryConflicts(() => driver.transaction((run) => work(toSession(run))), isConflict),
    ping: createPing(probe),
    close: async () => {
      await prisma.$disconnect();
      await disconnect();
    },
  };
}

/** Returns the row of a statement that always returns one. */
export function onlyRow<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error('A statement returned no row.');
  return row;
}
