import { createTables } from '../gateway/index.ts';
import type PrismaTypes from './generated/pothos.ts';
import { ENUMS, TABLES } from './generated/tables.ts';

/** Creates the table of a model in schema.prisma. */
export const table = createTables<PrismaTypes>(TABLES, ENUMS);
