import { createBuilder, createTables } from '../../../src/gateway/index.ts';
import type PrismaTypes from './generated/pothos.ts';
import { getDatamodel } from './generated/pothos.ts';
import type { PrismaClient } from './generated/prisma/client.ts';
import { ENUMS, TABLES } from './generated/tables.ts';

interface Types {
  PrismaTypes: PrismaTypes;
  Client: PrismaClient;
}

/** Pothos for the types of the bookshop, and what they are defined with besides it. */
export const { builder, Node, fieldsOf, createSchema } = createBuilder<Types>({
  datamodel: getDatamodel(),
  tables: TABLES,
});

/** Makes the table of a model of schema.prisma. */
export const table = createTables(ENUMS);
export { TABLES };

/** What every mutation needs. */
export const authScopes = { scope: 'books:write' };
