import { readFileSync } from 'node:fs';

import {
  buildSchema,
  getNamedType,
  type GraphQLField,
  isCompositeType,
  isObjectType,
  parse,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { COSTS } from '../../bench/statements.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

const STORE_TYPES = ['Query', 'Mutation', 'Category', 'Pet', 'InventoryItem', 'Order'];

let gateway: Gateway;

/**
 * 31 categories, the last one empty, the others with 4 pets; a pet more without orders. Each pet
 * has stock, each of the first 120 has two orders.
 */
beforeAll(async () => {
  gateway = await startGateway();
  const { prisma } = gateway.db;
  await prisma.category.createMany({
    data: Array.from({ length: 31 }, (_, index) => ({ name: `Category ${index}` })),
  });
  await prisma.pet.createMany({
    data: Array.from({ length: 121 }, (_, index) => ({
      name: `Pet ${index}`,
      categoryId: BigInt(1 + (index % 30)),
    })),
  });
  await prisma.inventoryItem.createMany({
    data: Array.from({ length: 121 }, (_, index) => ({ petId: BigInt(1 + index), quantity: 9 })),
  });
  await prisma.order.createMany({
    data: Array.from({ length: 240 }, (_, index) => ({
      petId: BigInt(1 + (index % 120)),
      quantity: 1,
    })),
  });
});
afterAll(() => gateway.close());

/** Asks, and gives the answer as text. */
async function ask(request: string, first: number): Promise<string> {
  if (request.startsWith('/')) return (await gateway.rest(request)).text();
  return JSON.stringify(await gateway.data(request, { first }));
}

describe('the SQL statements of an operation', () => {
  it.each(COSTS)('are as many as the table says: $operation', async ({ request, statements }) => {
    // What a page costs does not grow with its rows; nothing else is asked twice.
    for (const first of request.includes('$first') ? [2, 30] : [0]) {
      gateway.statements.length = 0;
      expect(await ask(request, first)).not.toContain('"message"');
      expect(gateway.statements).toHaveLength(statements);
    }
  });
});

/** Whether a field takes a statement: all of the roots, relations and counts. */
const isLoaded = (type: string, field: GraphQLField<unknown, unknown>): boolean =>
  field.name === 'totalCount' ||
  (STORE_TYPES.includes(type) && isCompositeType(getNamedType(field.type)));

describe('the table', () => {
  const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));

  it('has each field that is loaded', () => {
    const coordinates = Object.values(schema.getTypeMap())
      .filter(isObjectType)
      .flatMap((type) =>
        Object.values(type.getFields())
          .filter((field) => isLoaded(type.name, field))
          .map(({ name }) => `${type.name}.${name}`),
      );
    const asked = new Set<string>();
    const types = new TypeInfo(schema);
    const collect = visitWithTypeInfo(types, {
      Field: () => void asked.add(`${types.getParentType()?.name}.${types.getFieldDef()?.name}`),
    });
    for (const { request } of COSTS) {
      if (!request.startsWith('/')) visit(parse(request), collect);
    }
    expect(coordinates.filter((coordinate) => asked.has(coordinate))).toEqual(coordinates);
  });
});
