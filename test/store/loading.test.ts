import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Gateway, startGateway } from '../support/gateway.ts';

let gateway: Gateway;

/** 30 categories with 4 pets each, every pet with stock and two orders. */
beforeAll(async () => {
  gateway = await startGateway();
  const { prisma } = gateway.db;
  const categories = await prisma.category.createManyAndReturn({
    data: Array.from({ length: 30 }, (_, index) => ({ name: `Category ${index}` })),
  });
  const pets = await prisma.pet.createManyAndReturn({
    data: categories.flatMap(({ id }) =>
      Array.from({ length: 4 }, (_, index) => ({ name: `Pet ${index}`, categoryId: id })),
    ),
  });
  await prisma.inventoryItem.createMany({
    data: pets.map(({ id }) => ({ petId: id, quantity: 9 })),
  });
  await prisma.order.createMany({
    data: pets.flatMap(({ id }) => [
      { petId: id, quantity: 1 },
      { petId: id, quantity: 2 },
    ]),
  });
});
afterAll(() => gateway.close());

describe('a statement', () => {
  it('is shared by look-ups that come together', async () => {
    gateway.statements.length = 0;
    const { a, b, none } = await gateway.data(
      '{ a: pet(id: 1) { id } b: pet(id: 2) { id } again: pet(id: 1) { id } none: pet(id: 999999) { id } }',
    );
    expect([a.id, b.id, none]).toEqual(['1', '2', null]);
    expect(gateway.statements).toHaveLength(1);
  });
});

describe('a batch', () => {
  const NESTED = `query ($after: String) {
    categories(first: 2) { nodes { pets(first: 1, after: $after) { nodes { name } } } }
  }`;

  it('fails for the caller with the bad cursor alone', async () => {
    const [good, bad] = await Promise.all([
      gateway.graphql(NESTED),
      gateway.graphql(NESTED, { after: 'nonsense' }),
    ]);
    expect(good.errors).toBeUndefined();
    expect(bad.errors?.[0]?.extensions.code).toBe('INVALID_CURSOR');
  });

  it('keeps what each alias asks for apart', async () => {
    const { category } = await gateway.data(`{
      category(id: 1) {
        one: pets(first: 1) { nodes { name } }
        last: pets(last: 1) { nodes { name } }
        none: pets(filter: { status: [SOLD] }) { totalCount }
        all: pets { totalCount }
      }
    }`);
    expect(category).toEqual({
      one: { nodes: [{ name: 'Pet 0' }] },
      last: { nodes: [{ name: 'Pet 3' }] },
      none: { totalCount: 0 },
      all: { totalCount: 4 },
    });
  });
});
