import type { Log } from '../telemetry/log.ts';
import type { PoolUse } from '../telemetry/metrics.ts';
import { retryConflicts } from './retry.ts';
import { isConflict } from './errors.ts';
import { type Prisma, PrismaClient } from './generated/prisma/client.ts';
import { createHeavyLane } from './heavy-lane.ts';
import { createPing, type Probe, type Readiness } from './probe.ts';

/**
 * How PostgreSQL plans a statement: `once` for all values, or for its values `each` time, which pays
 * where it depends on them how many rows there are.
 */
export type Planning = 'once' | 'each';

/** How much a statement reads: what an index leads it to, or a large part of the store. */
type Load = 'light' | 'heavy';

/** Where statements run: each on its own, or all in one transaction. */
export interface Session {
  readonly prisma: Prisma.TransactionClient;
  /** Runs one statement; parameters are bound, never spliced. */
  readonly query: <Row>(statement: Prisma.Sql, planning?: Planning, load?: Load) => Promise<Row[]>;
}

/** The store's database, embedded or not, migrated and ready. */
export interface Database extends Session {
  readonly prisma: PrismaClient;
  /** What it is and where, for people; no password. */
  readonly description: string;
  /** Runs `work` in one transaction; `work` has to use nothing but the session it is given. */
  readonly transaction: <Result>(work: (session: Session) => Promise<Result>) => Promise<Result>;
  /** How its pool of connections is used; the embedded one has none. */
  readonly poolUse?: () => PoolUse;
  /** Asks whether the database answers, within two seconds, however busy the gateway is with it. */
  readonly ping: () => Promise<Readiness>;
  readonly close: () => Promise<void>;
}

/** What a Database is made of. */
interface Driver {
  readonly adapter: NonNullable<Prisma.PrismaClientOptions['adapter']>;
  /** Runs one statement past Prisma, with PARSERS for the values. */
  readonly run: <Row>(text: string, values: unknown[], planning: Planning) => Promise<Row[]>;
  readonly description: string;
  /** How long a transaction may wait to begin, and then take. */
  readonly transactionLimits: { readonly maxWait: number; readonly timeout: number };
  /** How many heavy statements may run at once. */
  readonly heavyAtOnce: number;
  readonly poolUse?: () => PoolUse;
  readonly probe: Probe;
  readonly disconnect: () => Promise<void>;
}

/** A driver's `run` that logs each statement. */
const logged =
  (run: Driver['run'], log: Log): Driver['run'] =>
  async (text, values, planning) => {
    const start = performance.now();
    try {
      return await run(text, values, planning);
    } finally {
      log.debug({ sql: text, ms: performance.now() - start }, 'SQL');
    }
  };

/** Makes a Database of a driver; at log level debug every statement is logged. */
export function createDatabase(driver: Driver, log: Log): Database {
  const { adapter, description, transactionLimits, poolUse, probe, disconnect } = driver;
  const prisma = new PrismaClient({
    adapter,
    log: [{ emit: 'event', level: 'query' }],
    // Its messages would have the values that a call was given.
    errorFormat: 'minimal',
  });
  const debugging = log.isLevelEnabled('debug');
  if (debugging) {
    prisma.$on('query', ({ query, duration }) => log.debug({ sql: query, ms: duration }, 'SQL'));
  }
  const run = debugging ? logged(driver.run, log) : driver.run;
  const runHeavy = createHeavyLane(driver.heavyAtOnce, transactionLimits.maxWait);
  return {
    prisma,
    // Prisma's own $queryRaw takes several times as long over a row as PostgreSQL does.
    query: <Row>({ text, values }: Prisma.Sql, planning: Planning = 'once', load: Load = 'light') =>
      load === 'heavy'
        ? runHeavy(() => run<Row>(text, values, planning))
        : run<Row>(text, values, planning),
    description,
    ...(poolUse && { poolUse }),
    transaction: (work) =>
      retryConflicts(
        () =>
          prisma.$transaction(
            (client) => work({ prisma: client, query: (statement) => client.$queryRaw(statement) }),
            transactionLimits,
          ),
        isConflict,
      ),
    ping: createPing(probe),
    close: async () => {
      await prisma.$disconnect();
      await disconnect();
    },
  };
}
