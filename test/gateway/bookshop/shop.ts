import { createTables, StoreBuilder } from '../../../src/gateway/index.ts';
import type PrismaTypes from './generated/pothos.ts';
import { getDatamodel } from './generated/pothos.ts';
import { ENUMS, TABLES } from './generated/tables.ts';

/** Defines the bookshop's types. */
export const store = new StoreBuilder<PrismaTypes>({
  datamodel: getDatamodel(),
  tables: TABLES,
  scopes: ['books:write'],
});

/** Pothos' builder, and the interface of types with global ids. */
export const { builder, Node } = store;

/** Creates the table of a model in schema.prisma. */
export const table = createTables<PrismaTypes>(TABLES, ENUMS);

/** The scope that every mutation requires. */
export const scope = 'books:write';
