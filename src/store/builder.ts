import { createBuilder } from '../gateway/index.ts';
import type PrismaTypes from './generated/pothos.ts';
import { getDatamodel } from './generated/pothos.ts';
import type { PrismaClient } from './generated/prisma/client.ts';
import { TABLES } from './generated/tables.ts';

interface Types {
  PrismaTypes: PrismaTypes;
  Client: PrismaClient;
}

/** Pothos for the types of the pet store, and what they are defined with besides it. */
export const { builder, Node, fieldsOf, newInputOf, createSchema } = createBuilder<Types>({
  datamodel: getDatamodel(),
  tables: TABLES,
});
