import { createBuilder } from '../gateway/index.ts';
import type PrismaTypes from './generated/pothos.ts';
import { getDatamodel } from './generated/pothos.ts';
import { TABLES } from './generated/tables.ts';

interface Types {
  PrismaTypes: PrismaTypes;
}

/** The pet store's Pothos builder, and the gateway's helpers that define types with it. */
export const { builder, Node, fieldsOf, newInputOf, deletedOf, linesField, addLine, createSchema } =
  createBuilder<Types>({
    datamodel: getDatamodel(),
    tables: TABLES,
    scopes: ['pets:write', 'inventory:write', 'orders:write'],
  });
