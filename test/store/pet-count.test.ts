import { describe, expect, it } from 'vitest';

import { useGateway, expectData, gateway } from '../support/gateway.ts';
import { changed, follow } from '../support/live.ts';
import { makeCategory, makePet } from '../support/make.ts';

async function makePets(count: number): Promise<{ id: string; petIds: string[] }> {
  const id = await makeCategory(gateway);
  const petIds = [];
  for (let made = 0; made < count; made += 1) {
    petIds.push(await makePet(gateway, { categoryId: id, stock: 9 }));
  }
  return { id, petIds };
}

useGateway();

describe('the number of pets in a category', () => {
  it('is counted for each category of a list, with the pages of its pets', async () => {
    const [none, two] = [await makePets(0), await makePets(2)];
    await expectData(
      `{ categories(filter: { ids: ["${none.id}", "${two.id}"] }) {
        nodes { petCount pets(first: 1, filter: { status: [SOLD] }) { totalCount nodes { category { petCount } } } } } }`,
      {
        categories: {
          nodes: [0, 2].map((petCount) => ({ petCount, pets: { totalCount: 0, nodes: [] } })),
        },
      },
    );
    await expectData(
      `{ pets(filter: { categoryId: "${two.id}" }) { nodes { category { petCount } } } }`,
      { pets: { nodes: two.petIds.map(() => ({ category: { petCount: 2 } })) } },
    );
  });

  it('is the same in each of its aliases, beside pages and groups', async () => {
    const [none, two] = [await makePets(0), await makePets(2)];
    const page = 'a: totalCount nodes { status } b: totalCount';
    const groups = 'groups(by: STATUS) { nodes { count } }';
    const available = { status: 'AVAILABLE' };
    await expectData(
      `{ ids: categories(filter: { ids: ["${none.id}", "${two.id}"] }) {
          x: totalCount y: totalCount nodes { pets(first: 1) { ${page} ${groups} } } }
        twice: pets(filter: { categoryId: "${two.id}" }) { a: totalCount b: totalCount } }`,
      {
        ids: {
          x: 2,
          y: 2,
          nodes: [
            { pets: { a: 0, nodes: [], b: 0, groups: { nodes: [] } } },
            { pets: { a: 2, nodes: [available], b: 2, groups: { nodes: [{ count: 2 }] } } },
          ],
        },
        twice: { a: 2, b: 2 },
      },
    );
  });

  it('includes the pets that a mutation adds', async () => {
    const { id } = await makePets(1);
    const data = await gateway.data(`mutation {
      createPet(input: { name: "Rex", categoryId: "${id}" }) { ... on Pet { category { petCount } } }
      updateCategory(id: "${id}", input: {}) { ... on Category { petCount } } }`);
    expect(data).toEqual({
      createPet: { category: { petCount: 2 } },
      updateCategory: { petCount: 2 },
    });
  });

  it('is in one statement for all categories of a batch', async () => {
    const [one, two] = [await makePets(1), await makePets(2)];
    gateway.statements.length = 0;
    const data = await gateway.data(
      `{ a: category(id: "${one.id}") { petCount } b: category(id: "${two.id}") { petCount } }`,
    );
    expect(data).toEqual({ a: { petCount: 1 }, b: { petCount: 2 } });
    expect(gateway.statements).toHaveLength(2);
  });

  it('is counted when a subscriber receives a change, and is 0 once the category is deleted', async () => {
    const field = 'categoryChanged { kind before { petCount } after { petCount } }';
    const stream = await follow(gateway, field);
    const id = await makeCategory(gateway);
    const petCount = { petCount: 0 };
    expect(await changed(stream)).toEqual({ kind: 'CREATED', before: null, after: petCount });
    await gateway.data(`mutation { deleteCategory(id: "${id}") { __typename } }`);
    expect(await changed(stream)).toEqual({ kind: 'DELETED', before: petCount, after: null });
  });
});
