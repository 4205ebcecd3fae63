import type { Log } from '../log.ts';
import { type Prisma, PrismaClient } from './generated/prisma/client.ts';

/** The store's database, embedded or not, migrated and ready. */
export interface Database {
  readonly prisma: PrismaClient;
  /** What it is and where, for people; no password. */
  readonly description: string;
  /** Runs one statement that Prisma's model API can't say; parameters are bound, never spliced. */
  query<Row>(statement: Prisma.Sql): Promise<Row[]>;
  /** Resolves if the database answers. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Makes a Database of a driver; at log level debug every statement is logged. */
export function createDatabase(driver: {
  adapter: NonNullable<Prisma.PrismaClientOptions['adapter']>;
  description: string;
  log: Log;
  disconnect: () => Promise<void>;
}): Database {
  const { adapter, description, log, disconnect } = driver;
  const prisma = new PrismaClient({ adapter, log: [{ emit: 'event', level: 'query' }] });
  if (log.isLevelEnabled('debug')) {
    prisma.$on('query', ({ query, duration }) => log.debug({ sql: query, ms: duration }, 'SQL'));
  }
  return {
    prisma,
    description,
    query: (statement) => prisma.$queryRaw(statement),
    ping: async () => {
      await prisma.$queryRaw`select 1`;
    },
    close: async () => {
      await prisma.$disconnect();
      await disconnect();
    },
  };
}
