import { type Database as GatewayDatabase, type Model, ROOT } from '../gateway/index.ts';
import { PrismaClient } from './generated/prisma/client.ts';

/** The tables of the pet store. */
export const petModel: Model<PrismaClient> = {
  // Other formats put the values of a call into the error message.
  createPrisma: (adapter) => new PrismaClient({ adapter, errorFormat: 'minimal' }),
  migrations: new URL('prisma/migrations/', ROOT),
};

/** The database of the pet store. */
export type Database = GatewayDatabase<PrismaClient>;
