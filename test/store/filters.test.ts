import { isInputObjectType } from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import { useGateway, gateway } from '../support/gateway.ts';
import { insertRows } from '../support/make.ts';
import { TIMES_UNTIL_COMPILED } from '../support/post.ts';
import { rounds } from '../support/rounds.ts';

const COUNT = 30;
const NAMES = ['Élan', 'apple', 'Apple', 'a%b_c\\d', 'zebra', 'Zoë'];

/** Returns the ship date of an order: a day after the previous order's, or a millisecond after it for the last order. */
const dateOf = (index: number): Date =>
  index === COUNT - 1
    ? new Date(Date.UTC(2027, 0, COUNT - 1, 0, 0, 0, 1))
    : new Date(Date.UTC(2027, 0, index + 1));

// Row n stands for a category, a pet, its inventory item, and an order for pet 1 or 2. Sort keys repeat, so ids break
// ties.
const ROWS = Array.from({ length: COUNT }, (_, index) => ({
  id: index + 1,
  name: NAMES[index % NAMES.length] ?? '',
  categoryId: index % 3 === 0 ? 2 : 1,
  isSold: index % 7 === 0,
  /** Null without an inventory item. */
  stock: index % 5 === 0 ? null : Math.floor(index / 2) % 3,
  shipDate: index % 4 > 0 ? dateOf(index).toISOString() : null,
}));
type Row = (typeof ROWS)[number];
const PET_OF_ORDER = ({ id }: Row): number => (id <= 25 ? 1 : 2);
const QUANTITY_OF_ORDER = ({ id }: Row): number => (id % 3) + 1;

type Keep = (row: Row) => boolean;

const isIn =
  (from: string, before: string): Keep =>
  ({ shipDate }) =>
    shipDate !== null && shipDate >= from && shipDate < before;

const DAY_5 = '2027-01-05T00:00:00.000Z';
const DAY_20 = '2027-01-20T00:00:00.000Z';
const ALWAYS = '9999-12-31T23:59:59.999Z';

const hasStock: Keep = ({ stock }) => (stock ?? 0) > 0;
const isComplete: Keep = ({ id }) => id % 2 === 0;
const always: Keep = () => true;
const never: Keep = () => false;

// Each filter, and whether a row matches it.
const CATEGORIES: [string, Keep][] = [
  ['{}', always],
  ['{ name: "aPPle" }', ({ name }) => /apple/i.test(name)],
  ['{ ids: ["3", 4, "99", "3"] }', ({ id }) => id === 3 || id === 4],
];

const fold = (name: string): string =>
  name.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();

const PETS: [string, Keep][] = [
  ['{}', always],
  ['{ status: null, name: null, categoryId: null, ids: null, inStock: null }', always],
  ['{ name: "APPLE" }', ({ name }) => /apple/i.test(name)],
  ['{ name: "é" }', ({ name }) => fold(name).includes('e')],
  ['{ name: " ELAN" }', ({ name }) => name === 'Élan'],
  ['{ name: "o z" }', ({ name }) => name === 'Zoë'],
  ['{ name: "%" }', ({ name }) => name.includes('%')],
  ['{ name: "\\\\" }', ({ name }) => name.includes('\\')],
  ['{ name: "_" }', ({ name }) => name.includes('_')],
  ['{ name: "  " }', always],
  ['{ status: [SOLD] }', ({ isSold }) => isSold],
  ['{ status: [] }', never],
  [
    '{ categoryId: 1, status: [AVAILABLE], name: "zebra" }',
    ({ categoryId, isSold, name }) => categoryId === 1 && !isSold && name === 'zebra',
  ],
  ['{ inStock: true }', hasStock],
  ['{ inStock: false }', (row) => !hasStock(row)],
  ['{ ids: ["3", 4, "99", "3", "30", "7"] }', ({ id }) => [3, 4, 7, 30].includes(id)],
  ['{ ids: [] }', never],
  ['{ categoryIds: ["2"] }', ({ categoryId }) => categoryId === 2],
  ['{ categoryName: "elan" }', ({ categoryId }) => categoryId === 1],
  [
    '{ categoryName: "PLE a", name: "zebra" }',
    (row) => row.categoryId === 2 && row.name === 'zebra',
  ],
  ['{ minQuantity: 2 }', ({ stock }) => (stock ?? 0) >= 2],
  ['{ minQuantity: 0, maxQuantity: 0 }', (row) => !hasStock(row)],
];

const ORDERS: [string, Keep][] = [
  ['{}', always],
  ['{ complete: true }', isComplete],
  ['{ complete: false, petId: 1 }', (row) => !isComplete(row) && PET_OF_ORDER(row) === 1],
  [`{ shipDate: { from: "${DAY_5}", before: "${DAY_20}" } }`, isIn(DAY_5, DAY_20)],
  [`{ shipDate: { from: "2027-01-05T03:00:00+03:00" } }`, isIn(DAY_5, ALWAYS)],
  [`{ shipDate: { from: "2027-01-29T00:00:00.001Z" } }`, isIn('2027-01-29T00:00:00.001Z', ALWAYS)],
  [`{ shipDate: { before: "${DAY_20}", from: null } }`, isIn('0001', DAY_20)],
  ['{ hasShipDate: true }', isIn('0001', ALWAYS)],
  [
    '{ hasShipDate: false, complete: false }',
    (row) => !isIn('0001', ALWAYS)(row) && !isComplete(row),
  ],
  ['{ ids: ["3", 4, "99"] }', ({ id }) => id === 3 || id === 4],
  ['{ petIds: ["2"] }', (row) => PET_OF_ORDER(row) === 2],
  ['{ petIds: [1, 2, 3], minQuantity: 2 }', (row) => QUANTITY_OF_ORDER(row) >= 2],
  ['{ minQuantity: 1, maxQuantity: 2 }', (row) => QUANTITY_OF_ORDER(row) <= 2],
  ['{ petStatus: [SOLD] }', (row) => PET_OF_ORDER(row) === 1],
  ['{ categoryIds: [2], petStatus: [SOLD, AVAILABLE] }', (row) => PET_OF_ORDER(row) === 1],
  [
    `{ shipDate: { from: "${DAY_5}" }, complete: true }`,
    (row) => isIn(DAY_5, ALWAYS)(row) && isComplete(row),
  ],
];

const INVENTORY: [string, Keep][] = [
  ['{}', always],
  ['{ minQuantity: null, categoryId: null }', always],
  ['{ minQuantity: 1, maxQuantity: 1 }', ({ stock }) => stock === 1],
  ['{ maxQuantity: 0 }', ({ stock }) => stock === 0],
  ['{ status: [SOLD] }', ({ isSold }) => isSold],
  [
    '{ categoryIds: [2, 3], status: [SOLD] }',
    ({ categoryId, isSold }) => categoryId === 2 && isSold,
  ],
  ['{ name: "ELAN" }', ({ name }) => name === 'Élan'],
  ['{ name: "b a%" }', ({ name }) => name === 'a%b_c\\d'],
  ['{ petIds: [2, 3, 3, 99, 6] }', ({ id }) => [2, 3].includes(id)],
];

interface List {
  readonly open: string;
  readonly id: string;
  /** The sort orders: each field, and the value by which rows are compared. */
  readonly sorts: Readonly<Record<string, (row: Row) => string | number>>;
  readonly keep: Keep;
  readonly filters: [string, Keep][];
}

const byName = {
  id: 'id',
  sorts: {
    ID: ({ id }: Row) => id,
    NAME: ({ name }: Row) => fold(name),
    NAME_CODE_POINT: ({ name }: Row) => name,
  },
  keep: always,
} as const;
const petList: List = { ...byName, open: '{ list: pets', filters: PETS };
const orderList: List = {
  ...byName,
  open: '{ list: orders',
  sorts: { ID: ({ id }) => id, SHIP_DATE: ({ shipDate }) => shipDate ?? 'infinity' },
  filters: ORDERS,
};

const LISTS: Record<string, List> = {
  categories: { ...byName, open: '{ list: categories', filters: CATEGORIES },
  pets: petList,
  'Category.pets': {
    ...petList,
    open: '{ category(id: 1) { list: pets',
    keep: ({ categoryId }) => categoryId === 1,
  },
  orders: orderList,
  'Pet.orders': {
    ...orderList,
    open: '{ pet(id: 1) { list: orders',
    keep: (row) => PET_OF_ORDER(row) === 1,
  },
  inventory: {
    open: '{ list: inventory',
    id: 'petId',
    sorts: { PET_ID: ({ id }) => id, QUANTITY: ({ stock }) => stock ?? 0 },
    keep: ({ stock }) => stock !== null,
    filters: INVENTORY,
  },
};

const CASES = Object.entries(LISTS).flatMap(([name, list]) =>
  list.filters.map(([filter, keep]) => ({ name, list, filter, keep })),
);

/** How to read a list: its order, and the end to start from. */
type Way = readonly [field: string, direction: 'ASC' | 'DESC', size: 'first' | 'last'];

const ENDS: readonly (readonly ['ASC' | 'DESC', 'first' | 'last'])[] = [
  ['ASC', 'first'],
  ['DESC', 'last'],
  ['DESC', 'first'],
  ['ASC', 'last'],
];

// Outside `npm run test:long`, a list with a filter is read in one order.
const PAGE = 16;
const waysFor = ({ sorts }: List, filter: string): readonly Way[] =>
  Object.keys(sorts)
    .slice(0, filter === '{}' ? undefined : rounds(1, 4))
    .flatMap((field) =>
      ENDS.slice(0, filter === '{}' ? 4 : rounds(1, 4)).map((end): Way => [field, ...end]),
    );

/** Posts a query until it is compiled to one statement; the result must be the same each time. */
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
async function walk({ open, id }: List, args: string, size: 'first' | 'last') {
  const close = '}'.repeat(open.split('{').length - 1);
  const pages: number[][] = [];
  const counts: number[] = [];
  const [cursor, end, more] =
    size === 'first'
      ? (['after', 'endCursor', 'hasNextPage'] as const)
      : (['before', 'startCursor', 'hasPreviousPage'] as const);
  let bound = '';
  for (;;) {
    const { nodes, totalCount, pageInfo } = await ask(
      `${open}(${args}, ${size}: ${PAGE}${bound}) { totalCount nodes { id: ${id} } pageInfo { ${end} ${more} } } ${close}`,
    );
    pages.push(nodes.map((node: { id: string }) => Number(node.id)));
    counts.push(totalCount);
    if (!pageInfo[more]) break;
    bound = `, ${cursor}: "${pageInfo[end]}"`;
  }
  return { ids: (size === 'first' ? pages : pages.toReversed()).flat(), counts };
}

function sorted({ sorts }: List, rows: Row[], field: string, direction: string): number[] {
  const sign = direction === 'ASC' ? 1 : -1;
  const compare = (a: Row, b: Row): number => {
    const [x, y] = [sorts[field]?.(a) ?? '', sorts[field]?.(b) ?? ''];
    if (x === y) return sign * (a.id - b.id);
    return x < y ? -sign : sign;
  };
  return rows.toSorted(compare).map(({ id }) => id);
}

useGateway();
beforeAll(async () => {
  await insertRows(
    gateway.db,
    'categories',
    ROWS.map(({ name }) => ({ name })),
  );
  await insertRows(
    gateway.db,
    'pets',
    ROWS.map(({ name, categoryId, isSold }) => ({
      name,
      category_id: categoryId,
      status: isSold ? 'sold' : 'available',
    })),
  );
  const stocked = ROWS.filter(({ stock }) => stock !== null);
  await insertRows(
    gateway.db,
    'inventory_items',
    stocked.map(({ id, stock }) => ({ pet_id: id, quantity: stock })),
  );
  await insertRows(
    gateway.db,
    'orders',
    ROWS.map((row) => ({
      pet_id: PET_OF_ORDER(row),
      quantity: QUANTITY_OF_ORDER(row),
      complete: isComplete(row),
      ship_date: row.shipDate,
    })),
  );
});

describe('filtering a list', () => {
  it.each(CASES)(
    'returns the rows of $name that match $filter, once and in order, and their count',
    async ({ list, filter, keep }) => {
      const kept = ROWS.filter((row) => list.keep(row) && keep(row));
      for (const [field, direction, size] of waysFor(list, filter)) {
        const args = `filter: ${filter}, orderBy: { field: ${field}, direction: ${direction} }`;
        const { ids, counts } = await walk(list, args, size);
        expect(ids).toEqual(sorted(list, kept, field, direction));
        expect(new Set(counts)).toEqual(new Set([kept.length]));
      }
    },
  );

  it('is tested with each condition of each list', () => {
    const untested = Object.values(petStore.schema.getQueryType()?.getFields() ?? {}).flatMap(
      ({ name: list, args }) => {
        const filter = args.find(({ name }) => name === 'filter')?.type;
        if (!isInputObjectType(filter) || !LISTS[list]) return [];
        const tested = LISTS[list].filters.map(([text]) => text).join(' ');
        return Object.keys(filter.getFields()).filter((name) => !tested.includes(`${name}:`));
      },
    );
    expect(untested).toEqual([]);
  });

  it('returns in each nested list only the matching rows of its parent, and their count', async () => {
    const fields = `nodes { id list: pets(filter: { inStock: true, ids: [2, 3, 4, 5, 9, 10] }) { totalCount nodes { id } } }`;
    const data = await gateway.data(`{ categories(first: 2) { ${fields} } }`);
    expect(data.categories.nodes).toEqual([
      { id: '1', list: { totalCount: 3, nodes: [{ id: '3' }, { id: '5' }, { id: '9' }] } },
      { id: '2', list: { totalCount: 2, nodes: [{ id: '4' }, { id: '10' }] } },
    ]);
  });
});

describe('an invalid filter', () => {
  it.each([
    ['pets', '{ ids: ["1", "x"] }', 'INVALID_ID', ['filter', 'ids', '1']],
    ['orders', '{ petId: "-1" }', 'INVALID_ID', ['filter', 'petId']],
    ['pets', '{ name: "\\u0000" }', 'INVALID_INPUT', ['filter', 'name']],
    [
      'orders',
      '{ shipDate: { from: "0000-01-01T00:00:00Z" } }',
      'INVALID_INPUT',
      ['filter', 'shipDate', 'from'],
    ],
  ])(
    'is rejected with the path of the invalid value: %s(filter: %s)',
    async (list, filter, code, path) => {
      for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
        const { errors } = await gateway.graphql(`{ ${list}(filter: ${filter}) { totalCount } }`);
        expect(errors?.[0]?.extensions).toMatchObject({ code, status: 400, issues: [{ path }] });
      }
    },
  );

  it('is rejected with INVALID_INPUT if it has more ids than allowed', async () => {
    const ids = Array.from({ length: 101 }, (_, index) => String(index));
    const { errors } = await gateway.graphql(
      'query ($ids: [ID!]) { pets(filter: { ids: $ids }) { totalCount } }',
      { ids },
    );
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'INVALID_INPUT', status: 400 });
  });
});
