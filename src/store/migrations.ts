import { ROOT } from './root.ts';

/** The folder with the pet store's migrations, in Prisma Migrate's layout. */
export const MIGRATIONS = new URL('prisma/migrations/', ROOT);
