import { createTables, StoreBuilder } from '../../../src/gateway/index.ts';
import { ENUMS, type Rows, TABLES } from './generated/tables.ts';

/** Defines the bookshop's types. */
export const store = new StoreBuilder({
  tables: TABLES,
  scopes: ['books:write'],
});

/** Pothos' builder, and the interface of types with global ids. */
export const { builder, Node } = store;

/** Creates the table of a model in schema.prisma. */
export const table = createTables<Rows>(TABLES, ENUMS);

/** The scope that every mutation requires. */
export const scope = 'books:write';
