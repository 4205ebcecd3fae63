import type { GraphQLObjectType } from 'graphql';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { LISTS } from '../../docs/examples/lists.ts';
import { petStore } from '../../src/store/index.ts';
import { type Data, gateway, useGateway } from '../support/gateway.ts';
import { makeCategory, makeOrder, makePet } from '../support/make.ts';
import { CACHING, type Shown } from './clients.ts';
import { SHOWN_LISTS, type ShownList, type Stored, WRITES } from './lists.ts';

useGateway();

/** Stores three pages of each list. */
async function store(): Promise<Stored> {
  const prefix = crypto.randomUUID();
  const categoryIds: string[] = [];
  for (const name of ['B', 'C', 'D', 'E', 'F']) {
    categoryIds.push(await makeCategory(gateway, `${prefix} ${name}`));
  }
  const [otherId = '', , emptyId = '', , categoryId = ''] = categoryIds;
  const petIds: string[] = [];
  for (const name of ['Ada', 'Bo', 'Cleo', 'Dot', 'Edda']) {
    petIds.push(await makePet(gateway, { name, categoryId, stock: 50 + petIds.length }));
  }
  const [petId = '', , secondId = ''] = petIds;
  const orderIds: string[] = [];
  for (const day of [1, 2, 3, 4, 5]) {
    orderIds.push(await makeOrder(gateway, petId, { shipDate: `2100-01-0${day}T00:00:00Z` }));
  }
  const [, , orderId = ''] = orderIds;
  return { prefix, emptyId, categoryId, otherId, petId, secondId, orderId };
}

const listIn = ({ path }: ShownList, data: Data): Data =>
  path.reduce((part, field) => part?.[field], data);

/** Loads the remaining pages, like a user who scrolls down. */
async function loadAll(list: ShownList, shown: Shown): Promise<void> {
  for (;;) {
    const { hasNextPage, endCursor } = listIn(list, shown.data).pageInfo;
    if (!hasNextPage) return;
    await shown.loadNext(endCursor);
  }
}

const shownBy = ({ totalCount, groups, edges }: Data) => {
  const rows: Data[] = edges.map(({ node }: Data) => node);
  return { totalCount, groups, rows };
};

describe.each(CACHING)('the lists of %s', (_name, connect) => {
  let create: Awaited<ReturnType<typeof connect>>;
  beforeAll(async () => {
    create = await connect(gateway);
  });

  it.each(Object.entries(WRITES))('are correct after %s', async (_write, fieldOf) => {
    const stored = await store();
    const field = fieldOf(stored);
    const client = create({});
    onTestFinished(() => client.stop());
    const screens: { list: ShownList; shown: Shown }[] = [];
    for (const list of SHOWN_LISTS) {
      const shown = await client.show(list.text, { ...stored });
      await loadAll(list, shown);
      expect(listIn(list, shown.data).edges).toHaveLength(5);
      screens.push({ list, shown });
    }
    // urql omits fields that are not selected.
    const text = `mutation { result: ${field.replace(/}$/, '__typename }')} }`;
    const written = await client.mutate(text, {});
    expect(written.error).toBeUndefined();
    const [, type] = /\.\.\. on (\w+)/.exec(field) ?? [];
    expect(written.data.result).toMatchObject({ __typename: type });
    for (const { list, shown } of screens) {
      const whole = list.text.replace('first: 2', 'first: 20');
      const expected = await gateway.data(whole, { ...stored });
      const { rows, ...above } = shownBy(listIn(list, expected));
      // At least the first page of the list is reloaded.
      await expect
        .poll(() => {
          const data = listIn(list, shown.data);
          return data && shownBy({ ...data, edges: data.edges.slice(0, 2) });
        })
        .toMatchObject({ ...above, rows: rows.slice(0, 2) });
      await loadAll(list, shown);
      expect(shownBy(listIn(list, shown.data))).toMatchObject({ ...above, rows });
    }
  });
});

const { schema } = petStore;
const isError = (name: string): boolean =>
  String((schema.getType(name) as GraphQLObjectType).getInterfaces()).includes('Error');

it('LISTS in docs/examples/lists.ts has an entry for each result type of a mutation or subscription, except errors', () => {
  const fields = [schema.getMutationType(), schema.getSubscriptionType()].flatMap((type) =>
    Object.values(type?.getFields() ?? {}),
  );
  const results = fields.flatMap(({ type }): string[] => {
    const named = schema.getType(String(type).replace('!', ''));
    if (!named) return [];
    // The object types of a union or an interface.
    return 'resolveType' in named ? schema.getPossibleTypes(named).map(String) : [named.name];
  });
  const written = new Set(results.filter((name) => !isError(name)));
  expect(Object.keys(LISTS).toSorted()).toEqual([...written].toSorted());
});
