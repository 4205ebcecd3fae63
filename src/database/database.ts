import { setTimeout as sleep } from 'node:timers/promises';

import type { Log } from '../log.ts';
import type { PoolUse } from '../metrics.ts';
import { retryConflicts } from './conflicts.ts';
import { isConflict } from './failure.ts';
import { type Prisma, PrismaClient } from './generated/prisma/client.ts';

const PING_TIMEOUT_MS = 2000;

/** Where statements run: each on its own, or all in one transaction. */
export interface Session {
  readonly prisma: Prisma.TransactionClient;
  /** Runs one statement that Prisma's model API can't say; parameters are bound, never spliced. */
  readonly query: <Row>(statement: Prisma.Sql) => Promise<Row[]>;
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
  /** Resolves if the database answers, within two seconds. */
  readonly ping: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** What a Database is made of. */
interface Driver {
  readonly adapter: NonNullable<Prisma.PrismaClientOptions['adapter']>;
  readonly description: string;
  /** How long a transaction may wait to begin, and then take. */
  readonly transactionLimits: { readonly maxWait: number; readonly timeout: number };
  readonly poolUse?: () => PoolUse;
  readonly disconnect: () => Promise<void>;
}

const toSession = (prisma: Prisma.TransactionClient): Session => ({
  prisma,
  query: (statement) => prisma.$queryRaw(statement),
});

/** Makes a Database of a driver; at log level debug every statement is logged. */
export function createDatabase(driver: Driver, log: Log): Database {
  const { adapter, description, transactionLimits, poolUse, disconnect } = driver;
  const prisma = new PrismaClient({ adapter, log: [{ emit: 'event', level: 'query' }] });
  if (log.isLevelEnabled('debug')) {
    prisma.$on('query', ({ query, duration }) => log.debug({ sql: query, ms: duration }, 'SQL'));
  }
  return {
    ...toSession(prisma),
    prisma,
    description,
    ...(poolUse && { poolUse }),
    transaction: (work) =>
      retryConflicts(
        () => prisma.$transaction((client) => work(toSession(client)), transactionLimits),
        isConflict,
      ),
    ping: async () => {
      const answer = prisma.$queryRaw`select 1`;
      const tooLate = sleep(PING_TIMEOUT_MS, undefined, { ref: false }).then(() => {
        throw new Error(`The database did not answer within ${PING_TIMEOUT_MS} ms.`);
      });
      await Promise.race([answer, tooLate]);
    },
    close: async () => {
      await prisma.$disconnect();
      await disconnect();
    },
  };
}
