import { StoreBuilder } from '../gateway/index.ts';
import { TABLES } from './generated/tables.ts';

/** Defines the pet store's types. */
export const store = new StoreBuilder({
  tables: TABLES,
  scopes: ['pets:write', 'inventory:write', 'orders:write'],
});

/** Pothos' builder, and the interface of types with global ids. */
export const { builder, Node } = store;
