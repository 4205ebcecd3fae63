import { createTables } from '../gateway/index.ts';
import { ENUMS, type Rows, TABLES } from './generated/tables.ts';

/** Creates the table of a model in schema.prisma. */
export const table = createTables<Rows>(TABLES, ENUMS);
