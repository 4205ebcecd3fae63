import type { SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils';

/** Any client of Prisma. */
export interface PrismaLike {
  $connect(): Promise<void>;
  $disconnect(): Promise<void>;
}

/** The tables of a store: Prisma's client for them, and the migrations that create them. */
export interface Model<Client extends PrismaLike = PrismaLike> {
  readonly createPrisma: (adapter: SqlDriverAdapterFactory) => Client;
  /** The folder of the migrations, in the layout of Prisma Migrate. */
  readonly migrations: URL;
}
