import { ROOT } from '../gateway/index.ts';

/** The folder of the migrations of the pet store, in the layout of Prisma Migrate. */
export const MIGRATIONS = new URL('prisma/migrations/', ROOT);
