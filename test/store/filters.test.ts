import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

import { describeOnBothDatabases } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { TIMES_UNTIL_COMPILED } from '../support/post.ts';

const COUNT = 30;
const NAMES = ['Cleo', 'Rex', 'Ada', 'Bo'];

interface Row {
  id: number;
  name: string;
  categoryId: number;
  /** Null without an inventory entry. */
  stock: number | null;
  shipDate: string | null;
}

/** The time of an order: one a day, and a last one a millisecond later. */
const dateOf = (index: number): Date =>
  index === COUNT - 1
    ? new Date(Date.UTC(2027, 0, COUNT - 1, 0, 0, 0, 1))
    : new Date(Date.UTC(2027, 0, index + 1));

// Row n is a pet, its inventory entry, and an order of pet 1 or 2. Keys repeat, so that ids decide.
const ROWS = Array.from({ length: COUNT }, (_, index): Row => {
  // The others have no date, or one that only SQL can write.
  const hasDate = index % 4 > 0;
  const noDate = [null, 'infinity', '-infinity'][(index / 4) % 3] ?? null;
  return {
    id: index + 1,
    name: NAMES[index % NAMES.length] ?? '',
    categoryId: index % 3 === 0 ? 2 : 1,
    stock: index % 5 === 0 ? null : Math.floor(index / 2) % 3,
    shipDate: hasDate ? dateOf(index).toISOString() : noDate,
  };
});
const PET_OF_ORDER = ({ id }: Row): number => (id <= 25 ? 1 : 2);

type Keep = (row: Row) => boolean;

const isIn =
  (from: string, before: string): Keep =>
  ({ shipDate }) =>
    shipDate !== null && shipDate >= from && shipDate < before;

const DAY_5 = '2027-01-05T00:00:00.000Z';
const DAY_20 = '2027-01-20T00:00:00.000Z';
const ALWAYS = '9999-12-31T23:59:59.999Z';

const hasStock: Keep = ({ stock }) => (stock ?? 0) > 0;

// Each filter, and the rows that it keeps.
const PETS: [string, Keep][] = [
  ['{ inStock: true }', hasStock],
  ['{ inStock: false }', (row) => !hasStock(row)],
  [
    '{ inStock: true, name: "e", status: [AVAILABLE] }',
    (row) => hasStock(row) && /e/.test(row.name),
  ],
  ['{ inStock: false, categoryId: 2 }', (row) => !hasStock(row) && row.categoryId === 2],
  ['{ ids: ["3", 4, "99", "3", "30", "7"] }', ({ id }) => [3, 4, 7, 30].includes(id)],
  ['{ ids: 5 }', ({ id }) => id === 5],
  ['{ ids: [] }', () => false],
  ['{ ids: null, inStock: null }', () => true],
  ['{ ids: ["9223372036854775807"] }', () => false],
  [`{ ids: [${Array.from({ length: 100 }, (_, n) => n).join()}], inStock: true }`, hasStock],
];

const ORDERS: [string, Keep][] = [
  [`{ shipDate: { from: "${DAY_5}", before: "${DAY_20}" } }`, isIn(DAY_5, DAY_20)],
  [`{ shipDate: { from: "2027-01-05T03:00:00+03:00" } }`, isIn(DAY_5, ALWAYS)],
  [`{ shipDate: { from: "2027-01-30T00:00:00.001Z" } }`, () => false],
  [`{ shipDate: { from: "2027-01-29T00:00:00.001Z" } }`, isIn('2027-01-29T00:00:00.001Z', ALWAYS)],
  [`{ shipDate: { before: "${DAY_20}", from: null } }`, isIn('0001', DAY_20)],
  [`{ shipDate: { before: "${ALWAYS}" } }`, isIn('0001', ALWAYS)],
  [`{ shipDate: { from: "0001-01-01T00:00:00Z" } }`, isIn('0001', ALWAYS)],
  [`{ shipDate: { from: "${DAY_20}", before: "${DAY_5}" } }`, () => false],
  [`{ shipDate: { from: "2027-01-06T00:00:00Z", before: "2027-01-06T00:00:00Z" } }`, () => false],
  ['{ shipDate: { from: null, before: null } }', () => true],
  [
    `{ shipDate: { from: "${DAY_5}" }, complete: true }`,
    (row) => isIn(DAY_5, ALWAYS)(row) && row.id % 2 === 0,
  ],
];

const INVENTORY: [string, Keep][] = [
  ['{ minQuantity: 1 }', ({ stock }) => (stock ?? 0) >= 1],
  ['{ minQuantity: 1, maxQuantity: 1 }', ({ stock }) => stock === 1],
  ['{ minQuantity: 2, maxQuantity: 1 }', () => false],
  ['{ minQuantity: -5 }', () => true],
  ['{ minQuantity: 2147483647 }', () => false],
  ['{ minQuantity: null, categoryId: null }', () => true],
  ['{ categoryId: "2" }', ({ categoryId }) => categoryId === 2],
  ['{ categoryId: 99 }', () => false],
  ['{ categoryId: 1, status: [SOLD] }', () => false],
  [
    '{ categoryId: 1, status: [AVAILABLE], minQuantity: 1 }',
    ({ categoryId, stock }) => categoryId === 1 && (stock ?? 0) >= 1,
  ],
];

interface List {
  /** The query around the list, whose arguments and selections are inserted. */
  readonly open: string;
  readonly close: string;
  readonly id: string;
  readonly fields: readonly [string, string];
  readonly keyOf: (row: Row) => string | number;
  readonly keep: Keep;
  readonly filters: [string, Keep][];
}

const petList: Omit<List, 'open' | 'close' | 'keep'> = {
  id: 'id',
  fields: ['ID', 'NAME'],
  keyOf: ({ name }) => name,
  filters: PETS,
};
const orderList: Omit<List, 'open' | 'close' | 'keep'> = {
  id: 'id',
  fields: ['ID', 'SHIP_DATE'],
  keyOf: ({ shipDate }) => shipDate ?? 'infinity',
  filters: ORDERS,
};

const LISTS: Record<string, List> = {
  pets: { ...petList, open: 'list: pets', close: '', keep: () => true },
  'Category.pets': {
    ...petList,
    open: 'category(id: 1) { list: pets',
    close: '}',
    keep: ({ categoryId }) => categoryId === 1,
  },
  orders: { ...orderList, open: 'list: orders', close: '', keep: () => true },
  'Pet.orders': {
    ...orderList,
    open: 'pet(id: 1) { list: orders',
    close: '}',
    keep: (row) => PET_OF_ORDER(row) === 1,
  },
  inventory: {
    open: 'list: inventory',
    close: '',
    id: 'petId',
    fields: ['PET_ID', 'QUANTITY'],
    keyOf: ({ stock }) => stock ?? 0,
    keep: ({ stock }) => stock !== null,
    filters: INVENTORY,
  },
};

const CASES = Object.entries(LISTS).flatMap(([name, list]) =>
  list.filters.map(([filter, keep]) => ({ name, list, filter, keep })),
);

/** How to read a list: ordered by the first or the second of its fields, and from which end. */
type Way = readonly [field: 0 | 1, direction: 'ASC' | 'DESC', size: 'first' | 'last'];

// Each of their values is in one of them. The other ways only in `npm run test:long`.
const SOME_WAYS: readonly Way[] = [
  [0, 'ASC', 'first'],
  [1, 'DESC', 'last'],
];
const OTHER_WAYS: readonly Way[] = [
  [0, 'ASC', 'last'],
  [0, 'DESC', 'last'],
  [0, 'DESC', 'first'],
  [1, 'ASC', 'first'],
  [1, 'ASC', 'last'],
  [1, 'DESC', 'first'],
];
const WAYS = inject('isLong') ? [...SOME_WAYS, ...OTHER_WAYS] : SOME_WAYS;

let gateway: Gateway;

/** Posts a query until it is executed by one statement; each time it must return the same. */
async function ask(query: string) {
  const data = await gateway.data(query);
  for (let time = 2; time <= TIMES_UNTIL_COMPILED; time += 1) {
    gateway.statements.length = 0;
    expect(await gateway.data(query)).toEqual(data);
  }
  expect(gateway.statements).toHaveLength(1);
  return data.list ?? Object.values<{ list: unknown }>(data)[0]?.list;
}

/** Reads a list page by page from one end; returns the ids in the order of the list, and the counts. */
async function walk({ open, close, id }: List, args: string, size: 'first' | 'last') {
  const pages: number[][] = [];
  const counts: number[] = [];
  const [cursor, end, more] =
    size === 'first'
      ? (['after', 'endCursor', 'hasNextPage'] as const)
      : (['before', 'startCursor', 'hasPreviousPage'] as const);
  let bound = '';
  for (;;) {
    const { nodes, totalCount, pageInfo } = await ask(
      `{ ${open}(${args}, ${size}: 16${bound}) { totalCount nodes { id: ${id} } pageInfo { ${end} ${more} } } ${close} }`,
    );
    pages.push(nodes.map((node: { id: string }) => Number(node.id)));
    counts.push(totalCount);
    if (!pageInfo[more]) break;
    bound = `, ${cursor}: "${pageInfo[end]}"`;
  }
  return { ids: (size === 'first' ? pages : pages.toReversed()).flat(), counts };
}

/** Returns the ids of some rows in the order of a list. */
function sorted({ keyOf, fields }: List, rows: Row[], field: string, direction: string): number[] {
  const sign = direction === 'ASC' ? 1 : -1;
  const compare = (a: Row, b: Row): number => {
    const [x, y] = [keyOf(a), keyOf(b)];
    if (field === fields[0] || x === y) return sign * (a.id - b.id);
    return x < y ? -sign : sign;
  };
  return rows.toSorted(compare).map(({ id }) => id);
}

/** Posts a query that is compiled, with each of some values for its variable, at the same time. */
const together = async (query: string, name: string, values: unknown[]) => {
  const post = (value: unknown) => gateway.data(query, { [name]: value });
  for (let time = 1; time < TIMES_UNTIL_COMPILED; time += 1) await post(values[0]);
  return Promise.all(values.map(post));
};

/** Returns how many orders have a date from a time on. */
const countFrom = (from: string): number => ROWS.filter(isIn(from, ALWAYS)).length;

describeOnBothDatabases(() => {
  beforeAll(async () => {
    gateway = await startGateway();
    const { prisma } = gateway.db;
    await prisma.category.createMany({ data: [{ name: 'Cats' }, { name: 'Dogs' }] });
    await prisma.pet.createMany({
      data: ROWS.map(({ name, categoryId }) => ({ name, categoryId: BigInt(categoryId) })),
    });
    await prisma.inventoryItem.createMany({
      data: ROWS.flatMap(({ id, stock }) =>
        stock === null ? [] : [{ petId: BigInt(id), quantity: stock }],
      ),
    });
    await prisma.order.createMany({
      data: ROWS.map((row) => ({
        petId: BigInt(PET_OF_ORDER(row)),
        quantity: 1,
        complete: row.id % 2 === 0,
        shipDate: row.shipDate?.includes('infinity') ? null : row.shipDate,
      })),
    });
    for (const { id, shipDate } of ROWS.filter((row) => row.shipDate?.includes('infinity'))) {
      await prisma.$executeRaw`update orders set ship_date = ${shipDate}::text::timestamptz where id = ${id}`;
    }
  });
  afterAll(() => gateway.close());

  describe('a filtered list', () => {
    it.each(CASES)(
      'of $name has the rows of $filter, once and in order, and their count',
      async ({ list, filter, keep }) => {
        const kept = ROWS.filter((row) => list.keep(row) && keep(row));
        for (const [place, direction, size] of WAYS) {
          const field = list.fields[place];
          const args = `filter: ${filter}, orderBy: { field: ${field}, direction: ${direction} }`;
          const { ids, counts } = await walk(list, args, size);
          expect(ids).toEqual(sorted(list, kept, field, direction));
          expect(new Set(counts)).toEqual(new Set([kept.length]));
        }
      },
    );

    it('of every parent has its own rows, and their count', async () => {
      const fields = `nodes { id list: pets(filter: { inStock: true, ids: [2, 3, 4, 5, 9, 10] }) { totalCount nodes { id } } }`;
      const data = await gateway.data(`{ categories { ${fields} } }`);
      expect(data.categories.nodes).toEqual([
        { id: '1', list: { totalCount: 3, nodes: [{ id: '3' }, { id: '5' }, { id: '9' }] } },
        { id: '2', list: { totalCount: 2, nodes: [{ id: '4' }, { id: '10' }] } },
      ]);
    });

    it.each(['{ shipDate: {} }', '{ shipDate: null }'])(
      'of orders has all with %s',
      async (filter) => {
        expect((await ask(`{ list: orders(filter: ${filter}) { totalCount } }`)).totalCount).toBe(
          COUNT,
        );
      },
    );

    it('of pets changes with their stock', async () => {
      const count = async (): Promise<number> =>
        (await gateway.data('{ pets(filter: { inStock: true, ids: [1] }) { totalCount } }')).pets
          .totalCount;
      const set = (quantity: number) =>
        gateway.data(
          `mutation { updateInventory(petId: 1, input: { quantity: ${quantity} }) { __typename } }`,
        );
      const counts = [await count()];
      for (const quantity of [1, 0]) {
        await set(quantity);
        counts.push(await count());
      }
      await gateway.db.prisma.inventoryItem.delete({ where: { petId: 1n } });
      expect(counts).toEqual([0, 1, 0]);
    });
  });

  describe('equal queries with different values at the same time', () => {
    it('find the pets with their own ids', async () => {
      const query = 'query ($ids: [ID!]) { pets(filter: { ids: $ids }) { nodes { id } } }';
      const all = await together(query, 'ids', [['1', '2'], ['2', '1', '12'], [], ['12']]);
      expect(all.map(({ pets }) => pets.nodes.map(({ id }: { id: string }) => id).join())).toEqual([
        '1,2',
        '1,2,12',
        '',
        '12',
      ]);
    });

    it('find the orders of their own range, to the millisecond', async () => {
      const query =
        'query ($from: DateTime) { orders(filter: { shipDate: { from: $from } }) { totalCount } }';
      const all = await together(query, 'from', [
        '2027-01-29T00:00:00.000Z',
        '2027-01-29T00:00:00.001Z',
        '2027-01-29T00:00:00.002Z',
      ]);
      expect(all.map(({ orders }) => orders.totalCount)).toEqual([
        countFrom('2027-01-29T00:00:00.000Z'),
        countFrom('2027-01-29T00:00:00.001Z'),
        0,
      ]);
    });
  });

  describe('an invalid filter', () => {
    it.each([
      ['pets', '{ ids: ["1", "x"] }', 'INVALID_ID', ['filter', 'ids', '1']],
      ['pets', '{ ids: ["-1"] }', 'INVALID_ID', ['filter', 'ids', '0']],
      ['pets', '{ ids: ["9223372036854775808"] }', 'INVALID_ID', ['filter', 'ids', '0']],
      ['inventory', '{ categoryId: "1.5" }', 'INVALID_ID', ['filter', 'categoryId']],
      [
        'orders',
        '{ shipDate: { from: "0000-01-01T00:00:00Z" } }',
        'INVALID_INPUT',
        ['filter', 'shipDate', 'from'],
      ],
      [
        'orders',
        '{ shipDate: { before: "9999-12-31T23:59:59-12:00" } }',
        'INVALID_INPUT',
        ['filter', 'shipDate', 'before'],
      ],
    ])('of %s is rejected at its path: %s', async (list, filter, code, path) => {
      for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
        const { errors } = await gateway.graphql(`{ ${list}(filter: ${filter}) { totalCount } }`);
        expect(errors?.[0]?.extensions).toMatchObject({ code, status: 400, issues: [{ path }] });
      }
    });

    it.each([
      ['pets', '{ ids: [null] }'],
      ['pets', '{ inStock: 1 }'],
      ['orders', '{ shipDate: "2027-01-01T00:00:00Z" }'],
      ['orders', '{ shipDate: { from: "2027-02-30T00:00:00Z" } }'],
      ['orders', '{ shipDate: { until: "2027-01-01T00:00:00Z" } }'],
      ['inventory', '{ minQuantity: 2147483648 }'],
    ])('of %s is rejected before anything runs: %s', async (list, filter) => {
      gateway.statements.length = 0;
      const { errors } = await gateway.graphql(`{ ${list}(filter: ${filter}) { totalCount } }`);
      expect(errors?.[0]?.extensions.status).toBe(400);
      expect(gateway.statements).toEqual([]);
    });

    it('of more ids than a list may have is rejected', async () => {
      const ids = Array.from({ length: 101 }, (_, index) => String(index));
      const { errors } = await gateway.graphql(
        'query ($ids: [ID!]) { pets(filter: { ids: $ids }) { totalCount } }',
        { ids },
      );
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'INVALID_INPUT', status: 400 });
    });
  });
});
