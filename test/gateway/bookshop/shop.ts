import { createBuilder, createTables } from '../../../src/gateway/index.ts';
import type PrismaTypes from './generated/pothos.ts';
import { getDatamodel } from './generated/pothos.ts';
import { ENUMS, TABLES } from './generated/tables.ts';

interface Types {
  PrismaTypes: PrismaTypes;
}

/** The Pothos builder of the bookshop, and the helpers that define its types. */
export const { builder, Node, fieldsOf, createSchema } = createBuilder<Types>({
  datamodel: getDatamodel(),
  tables: TABLES,
});

/** Creates the table of a model in schema.prisma. */
export const table = createTables<PrismaTypes>(TABLES, ENUMS);

/** What every mutation needs. */
export const scope = 'books:write';
