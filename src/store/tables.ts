import { createTables } from '../gateway/index.ts';
import { ENUMS } from './generated/tables.ts';

export { TABLES } from './generated/tables.ts';

/** Makes the table of a model of schema.prisma. */
export const table = createTables(ENUMS);
