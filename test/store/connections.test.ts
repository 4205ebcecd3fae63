import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

import { describeOnBothDatabases } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

let gateway: Gateway;

// Names and quantities repeat, so that ids decide their order; every third order has no date.
const NAMES = ['Élan', 'apple', 'Apple', 'a%b_c\\d', 'zebra', 'Zoë'];
const nameOf = (index: number): string => NAMES[index % NAMES.length] ?? '';

interface Node {
  id?: string;
  petId?: string;
  name?: string;
  quantity?: number;
  shipDate?: string | null;
}

const LISTS = {
  pets: { open: 'pets(ARGS)', id: 'id', key: 'name', close: '' },
  categories: { open: 'categories(ARGS)', id: 'id', key: 'name', close: '' },
  inventory: { open: 'inventory(ARGS)', id: 'petId', key: 'quantity', close: '' },
  orders: { open: 'orders(ARGS)', id: 'id', key: 'shipDate', close: '' },
  'Category.pets': {
    open: 'category(id: 1) { list: pets(ARGS)',
    id: 'id',
    key: 'name',
    close: '}',
  },
  'Pet.orders': { open: 'pet(id: 1) { list: orders(ARGS)', id: 'id', key: 'shipDate', close: '}' },
} as const;

type List = keyof typeof LISTS;

const page = async (list: List, args: string) => {
  const { open, id, key, close } = LISTS[list];
  const fields = `{
    totalCount edges { cursor node { ${id} ${key} } } nodes { ${id} }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }`;
  const data = await gateway.data(
    `{ list: ${open.replace('(ARGS)', args && `(${args})`)} ${fields} ${close} }`,
  );
  return data.list.list ?? data.list;
};

const idOf = (node: Node): number => Number(node.id ?? node.petId);

/** Returns the value that a row is sorted by, for JavaScript to compare. */
function keyOf(node: Node): string | number {
  if (node.name !== undefined) return node.name;
  return node.quantity ?? node.shipDate ?? 'infinity';
}

function sorted(nodes: Node[], field: string, direction: string): number[] {
  const sign = direction === 'ASC' ? 1 : -1;
  const compare = (a: Node, b: Node): number => {
    const [x, y] = [keyOf(a), keyOf(b)];
    if (field === 'ID' || field === 'PET_ID' || x === y) return sign * (idOf(a) - idOf(b));
    return x < y ? -sign : sign;
  };
  return nodes.toSorted(compare).map(idOf);
}

/** Reads a list page by page from one end; returns the ids in the order of the list. */
async function walk(list: List, order: string, size: 'first' | 'last'): Promise<number[]> {
  const pages: number[][] = [];
  const [cursor, end, more] =
    size === 'first'
      ? (['after', 'endCursor', 'hasNextPage'] as const)
      : (['before', 'startCursor', 'hasPreviousPage'] as const);
  let args = '';
  for (;;) {
    const { nodes, pageInfo } = await page(list, `${order}, ${size}: 12${args}`);
    pages.push(nodes.map(idOf));
    if (!pageInfo[more]) return (size === 'first' ? pages : pages.toReversed()).flat();
    args = `, ${cursor}: "${pageInfo[end]}"`;
  }
}

const FIELDS = { name: 'NAME', quantity: 'QUANTITY', shipDate: 'SHIP_DATE' } as const;

const ORDERS = (Object.keys(LISTS) as List[]).flatMap((list) =>
  [list === 'inventory' ? 'PET_ID' : 'ID', FIELDS[LISTS[list].key]].flatMap((field) =>
    ['ASC', 'DESC'].map((direction) => ({ list, field, direction })),
  ),
);

/** Returns the ends to read a list from: both in `npm run test:long`, and otherwise one. */
function endsFor(direction: string): ('first' | 'last')[] {
  if (inject('isLong')) return ['first', 'last'];
  return direction === 'ASC' ? ['first'] : ['last'];
}

const forge = (...place: unknown[]): string =>
  Buffer.from(JSON.stringify(place)).toString('base64url');

const count = async (list: string, filter: string): Promise<number> =>
  (await gateway.data(`{ ${list}(filter: ${filter}) { totalCount nodes { __typename } } }`))[list]
    .totalCount;

describeOnBothDatabases(() => {
  beforeAll(async () => {
    gateway = await startGateway();
    const { prisma } = gateway.db;
    const rows = Array.from({ length: 25 }, (_, index) => index);
    await prisma.category.createMany({ data: rows.map((index) => ({ name: nameOf(index) })) });
    await prisma.pet.createMany({
      data: rows.map((index) => ({
        name: nameOf(index),
        categoryId: 1n,
        status: index % 5 === 0 ? ('sold' as const) : ('available' as const),
      })),
    });
    await prisma.inventoryItem.createMany({
      data: rows.map((index) => ({ petId: BigInt(index + 1), quantity: index % 4 })),
    });
    await prisma.order.createMany({
      data: rows.map((index) => ({
        petId: 1n,
        quantity: 1,
        complete: index % 2 === 0,
        shipDate: index % 3 === 0 ? null : new Date(Date.UTC(2027, 0, 1 + (index % 7))),
      })),
    });
  });
  afterAll(() => gateway.close());

  describe('reading a list page by page', () => {
    it.each(ORDERS)(
      'returns each row once, in order: $list by $field $direction',
      async ({ list, field, direction }) => {
        const all = (await page(list, 'first: 100')).edges.map(({ node }: { node: Node }) => node);
        expect(all).toHaveLength(25);
        const expected = sorted(all, field, direction);
        const order = `orderBy: { field: ${field}, direction: ${direction} }`;
        for (const size of endsFor(direction)) {
          expect(await walk(list, order, size)).toEqual(expected);
        }
      },
    );
  });

  describe('a page', () => {
    it.each(Object.keys(LISTS) as List[])(
      'of %s has 20 rows by default, and the count of all',
      async (list) => {
        const { edges, nodes, totalCount, pageInfo } = await page(list, '');
        expect(nodes.map(idOf)).toEqual(edges.map(({ node }: { node: Node }) => idOf(node)));
        expect(nodes).toHaveLength(20);
        expect(totalCount).toBe(25);
        expect(pageInfo).toEqual({
          hasNextPage: true,
          hasPreviousPage: false,
          startCursor: edges[0].cursor,
          endCursor: edges[19].cursor,
        });
      },
    );

    it('may be empty', async () => {
      expect(await page('pets', 'first: 0')).toMatchObject({ edges: [], totalCount: 25 });
    });

    it('is between the cursors `after` and `before`', async () => {
      const { edges } = await page('pets', '');
      const { nodes } = await page(
        'pets',
        `after: "${edges[2].cursor}", before: "${edges[6].cursor}"`,
      );
      expect(nodes.map(idOf)).toEqual([4, 5, 6]);
    });

    it.each([
      ['after', 'first: 3', true, true],
      ['after', 'first: 100', false, true],
      ['after', 'last: 3', false, true],
      ['before', 'first: 3', true, false],
      ['before', 'last: 3', true, true],
      ['before', 'last: 100', true, false],
    ])(
      'with a cursor %s and %s has hasNextPage %s and hasPreviousPage %s',
      async (end, size, hasNextPage, hasPreviousPage) => {
        const { edges } = await page('pets', '');
        const { pageInfo } = await page('pets', `${end}: "${edges[10].cursor}", ${size}`);
        expect(pageInfo).toMatchObject({ hasNextPage, hasPreviousPage });
      },
    );

    it.each(['first: 101', 'first: -1', 'last: 101', 'last: -1', 'first: 1, last: 1'])(
      'with %s is rejected as INVALID_INPUT',
      async (args) => {
        const { errors } = await gateway.graphql(`{ pets(${args}) { nodes { id } } }`);
        expect(errors?.[0]?.extensions).toMatchObject({ code: 'INVALID_INPUT', status: 400 });
      },
    );
  });

  describe('a cursor', () => {
    it.each([
      ['garbage', 'pets', 'ID', 'garbage'],
      ['no text', 'pets', 'ID', ''],
      ['the values of another order', 'pets', 'NAME', forge('ID', '1')],
      ['an id beyond int64', 'pets', 'ID', forge('ID', '9223372036854775808')],
      ['an id that is a number', 'pets', 'ID', forge('ID', 1)],
      ['a name with NUL', 'pets', 'NAME', forge('NAME', '1', 'a\0')],
      ['no name', 'pets', 'NAME', forge('NAME', '1')],
      ['a huge quantity', 'inventory', 'QUANTITY', forge('QUANTITY', '1', '2147483648')],
      [
        'a date that does not exist',
        'orders',
        'SHIP_DATE',
        forge('SHIP_DATE', '1', '2027-02-30T00:00:00.000Z'),
      ],
      ['the year 0', 'orders', 'SHIP_DATE', forge('SHIP_DATE', '1', '0000-01-01T00:00:00.000Z')],
    ])('with %s is rejected as INVALID_CURSOR', async (_what, list, field, cursor) => {
      const { errors } = await gateway.graphql(
        `query ($after: String) { ${list}(orderBy: { field: ${field} }, after: $after) { totalCount } }`,
        { after: cursor },
      );
      expect(errors?.[0]?.extensions).toMatchObject({
        code: 'INVALID_CURSOR',
        status: 400,
        issues: [{ path: ['after'] }],
      });
    });
  });

  describe('a filter', () => {
    it.each([
      ['pets', '{ name: "APPLE" }', 8],
      ['pets', '{ name: "é" }', 5],
      ['pets', '{ name: "ZO" }', 4],
      ['pets', '{ name: "%" }', 4],
      ['pets', '{ name: "b_c" }', 4],
      ['pets', '{ name: "\\\\" }', 4],
      ['pets', '{ name: "_" }', 4],
      ['pets', '{ name: "" }', 25],
      ['pets', '{ status: [SOLD] }', 5],
      ['pets', '{ status: [SOLD, AVAILABLE] }', 25],
      ['pets', '{ status: [] }', 0],
      ['pets', '{ status: null, name: null, categoryId: null }', 25],
      ['pets', '{ categoryId: 1, status: [SOLD], name: "zebra" }', 1],
      ['pets', '{ categoryId: 2 }', 0],
      ['categories', '{ name: "aPPle" }', 8],
      ['orders', '{ complete: true }', 13],
      ['orders', '{ complete: false, petId: 1 }', 12],
      ['orders', '{ petId: 2 }', 0],
      ['inventory', '{ maxQuantity: 0 }', 7],
      ['inventory', '{ maxQuantity: -1 }', 0],
      ['inventory', '{ status: [SOLD] }', 5],
      ['inventory', '{ status: [SOLD], maxQuantity: 1 }', 3],
    ])('of %s by %s finds %i', async (list, filter, expected) => {
      expect(await count(list, filter)).toBe(expected);
    });

    it.each([
      ['pets', '{ categoryId: "x" }', 'INVALID_ID', ['filter', 'categoryId']],
      ['orders', '{ petId: "-1" }', 'INVALID_ID', ['filter', 'petId']],
      ['pets', '{ name: "\\u0000" }', 'INVALID_INPUT', ['filter', 'name']],
    ])('of %s by %s is rejected as %s', async (list, filter, code, path) => {
      const { errors } = await gateway.graphql(`{ ${list}(filter: ${filter}) { totalCount } }`);
      expect(errors?.[0]?.extensions).toMatchObject({ code, status: 400, issues: [{ path }] });
    });
  });
});
