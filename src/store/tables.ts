import { createTables } from '../gateway/index.ts';
import type PrismaTypes from './generated/pothos.ts';
import { ENUMS, TABLES } from './generated/tables.ts';

/** Makes the table of a model of schema.prisma. */
export const table = createTables<PrismaTypes>(TABLES, ENUMS);
