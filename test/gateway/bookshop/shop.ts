import { createBuilder, createTables } from '../../../src/gateway/index.ts';
import type PrismaTypes from './generated/pothos.ts';
import { getDatamodel } from './generated/pothos.ts';
import { ENUMS, TABLES } from './generated/tables.ts';
import './mask-plugin.ts';
import './validation-plugin.ts';

interface Types {
  PrismaTypes: PrismaTypes;
}

/** The bookshop's Pothos builder, and the gateway's helpers that define types with it. */
export const { builder, Node, fieldsOf, createSchema } = createBuilder<Types>({
  datamodel: getDatamodel(),
  tables: TABLES,
  scopes: ['books:write'],
  plugins: { validation: ['validate'], mask: ['mask'] },
});

/** Creates the table of a model in schema.prisma. */
export const table = createTables<PrismaTypes>(TABLES, ENUMS);

/** The scope that every mutation requires. */
export const scope = 'books:write';
