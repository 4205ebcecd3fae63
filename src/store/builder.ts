import { StoreBuilder } from '../gateway/index.ts';
import type PrismaTypes from './generated/pothos.ts';
import { getDatamodel } from './generated/pothos.ts';
import { TABLES } from './generated/tables.ts';

export const store = new StoreBuilder<PrismaTypes>({
  datamodel: getDatamodel(),
  tables: TABLES,
  scopes: ['pets:write', 'inventory:write', 'orders:write'],
});

/** Pothos' builder, and the interface of types with global ids. */
export const { builder, Node } = store;
