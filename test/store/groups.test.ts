import { assert, asyncProperty, constantFrom, record, subarray, tuple } from 'fast-check';
import { raw } from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';

import { createTables, groupBy } from '../../src/gateway/index.ts';
import type PrismaTypes from '../../src/store/generated/pothos.ts';
import { ENUMS, TABLES } from '../../src/store/generated/tables.ts';
import { type Data, expectData, gateway, run, useGateway } from '../support/gateway.ts';
import { insertRows } from '../support/make.ts';
import { TIMES_UNTIL_COMPILED } from '../support/post.ts';
import { rounds } from '../support/rounds.ts';

const MAX_INT = 2_147_483_647;
const PETS = 130;
const ORDERS = 600;
const STATUSES = ['available', 'pending', 'sold'];
// Near the ends of days and months, in and around UTC.
const TIMES = [
  '2026-01-31T23:59:59.999Z',
  '2026-02-01T00:00:00Z',
  '2026-02-28T23:30:00-01:00',
  '2026-03-01T00:30:00+01:00',
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  null,
];
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** Each key: its field, and SQL for its value and for its JSON. */
const KEYS = {
  PET_ID: ['petId', 'orders.pet_id', 'orders.pet_id::text'],
  CATEGORY_ID: ['categoryId', 'pets.category_id', 'pets.category_id::text'],
  COMPLETE: ['complete', 'complete', 'complete::text'],
  SHIP_DATE_DAY: [
    'shipDateDay',
    `(ship_date at time zone 'UTC')::date`,
    `to_char(ship_date at time zone 'UTC', 'YYYY-MM-DD')`,
  ],
  SHIP_DATE_MONTH: [
    'shipDateMonth',
    `to_char(ship_date at time zone 'UTC', 'YYYY-MM')`,
    `to_char(ship_date at time zone 'UTC', 'YYYY-MM') || '-01'`,
  ],
} as const;
type Key = keyof typeof KEYS;
const NAMES = Object.keys(KEYS) as Key[];

/** Filters of orders, each with its condition in SQL. */
const FILTERS: readonly (readonly [filter: object, condition: string])[] = [
  [{ complete: true }, 'complete'],
  [{ hasShipDate: true }, 'ship_date is not null'],
  [{ minQuantity: 3 }, 'quantity >= 3'],
  [{ categoryIds: ['1', '3'] }, 'pets.category_id in (1, 3)'],
  [{ petStatus: ['SOLD'] }, `pets.status = 'sold'`],
  [{ shipDate: { before: '2026-03-01T00:00:00Z' } }, `ship_date < '2026-03-01T00:00:00Z'`],
  [{ petId: '7' }, 'pet_id = 7'],
];

const queryOf = (by: readonly Key[]): string => {
  const fields = by.map((key) =>
    key === 'CATEGORY_ID' ? 'categoryId category { id }' : KEYS[key][0],
  );
  return `query ($filter: OrderFilter, $by: [OrderGroupKey!]!) {
    orders(first: 1, filter: $filter, orderBy: { field: SHIP_DATE }) {
      groups(by: $by) { hasMore nodes { ${fields.join(' ')} count sum { quantity } } }
    }
  }`;
};

/** Returns the groups of orders, by SQL written here. */
async function groupsOf(by: readonly Key[], conditions: readonly string[]) {
  const values = by.map((key) => KEYS[key][1]).join();
  const fields = by.map((key) => `'${KEYS[key][0]}', to_json(min(${KEYS[key][2]}))`);
  const rows = await gateway.db.query<{ group: Record<string, unknown> }>(
    raw(`select json_build_object(${fields.join()}, 'count', count(*),
        'sum', json_build_object('quantity', sum(quantity))) as group
      from orders join pets on pets.id = pet_id where ${['true', ...conditions].join(' and ')}
      group by ${values} order by count(*) desc, ${values}`),
  );
  const nodes = rows.map(({ group }) => ({
    ...group,
    ...('complete' in group && { complete: group['complete'] === 'true' }),
    ...('categoryId' in group && { category: { id: group['categoryId'] } }),
  }));
  return { nodes: nodes.slice(0, 100), hasMore: nodes.length > 100 };
}

let documents = 0;
/** Returns the data of a document that graphql-js executes, because it is new. */
const byGraphqlJs = (query: string, variables?: Record<string, unknown>) => {
  documents += 1;
  return gateway.data(`${query} # ${documents}`, variables);
};

const expectOneStatement = async (...args: Parameters<typeof expectData>): Promise<void> =>
  expect(await expectData(...args)).toBe(1);

/** Returns a pet with orders that are all in one group. */
const petWith = (petId: string, count: number) => ({
  orders: { groups: { nodes: [{ petId, count }] } },
});

it('are by an enum, a boolean or an id, or by the day or month of a time, by the types of groupBy', () => {
  const { petId, quantity, shipDate } = createTables<PrismaTypes>(TABLES, ENUMS)('Order').fields;
  // @ts-expect-error -- the values of few orders are the same
  expect(() => groupBy.value(quantity)).toThrow('unlike orders.quantity');
  // @ts-expect-error -- a time has no groups but its day and its month
  expect(() => groupBy.value(shipDate)).toThrow('unlike orders.ship_date');
  // @ts-expect-error -- an id is no time
  expect(groupBy.day(petId).kind.graphql).toBe('Date');
});

useGateway();

describe('the groups of a list', () => {
  beforeAll(async () => {
    await insertRows(
      gateway.db,
      'categories',
      numbers(5).map((n) => ({ id: n + 1, name: `Kind ${n}` })),
    );
    await insertRows(
      gateway.db,
      'pets',
      numbers(PETS).map((n) => ({
        id: n + 1,
        name: `Pet ${n}`,
        category_id: (n % 4) + 1,
        status: STATUSES[n % 3],
      })),
    );
    await insertRows(
      gateway.db,
      'inventory_items',
      numbers(10).map((n) => ({ pet_id: n + 1, quantity: n })),
    );
    await insertRows(
      gateway.db,
      'orders',
      numbers(ORDERS).map((n) => ({
        id: n + 1,
        // Half of the orders are for the first 20 pets.
        pet_id: (n % 4 === 0 ? n % 20 : n % PETS) + 1,
        quantity: n % 11 === 0 ? MAX_INT : (n % 5) + 1,
        ship_date: TIMES[n % TIMES.length],
        complete: n % 3 === 0,
      })),
    );
  });

  it('are those that SQL finds, for any filter and keys, compiled or not', async () => {
    const cases = record({
      filters: subarray([...FILTERS], { maxLength: 2 }),
      by: tuple(constantFrom(...NAMES), constantFrom(...NAMES)).map((two) => [...new Set(two)]),
    });
    await assert(
      asyncProperty(cases, async ({ filters, by }) => {
        const filter: object = Object.assign({}, ...filters.map(([one]) => one));
        const groups = await groupsOf(
          by,
          filters.map(([, condition]) => condition),
        );
        documents += 1;
        const query = `${queryOf(by)} # ${documents}`;
        await expectOneStatement(query, { orders: { groups } }, { filter, by });
      }),
      { numRuns: rounds(12, 300) },
    );
  });

  it('are the hundred largest, and hasMore says whether there are others', async () => {
    const query = '{ orders { groups(by: PET_ID) { hasMore nodes { petId count } } } }';
    const { orders } = await byGraphqlJs(query);
    expect(orders.groups.hasMore).toBe(true);
    expect(orders.groups.nodes).toHaveLength(100);
    const counts: number[] = orders.groups.nodes.map(({ count }: Data) => count);
    expect(counts).toEqual(counts.toSorted((a, b) => b - a));
    await expectOneStatement(query, { orders });
  });

  it('are several, with keys of their own, next to the other parts of the list', async () => {
    await expectOneStatement(
      `{ orders(first: 1, filter: { petId: 7 }) {
          nodes { id } totalCount
          open: groups(by: COMPLETE) { nodes { complete count } }
          byKind: groups(by: CATEGORY_ID) { __typename hasMore nodes { category { name } } }
          types: groups(by: [COMPLETE]) { __typename }
        } }`,
      {
        orders: {
          nodes: [{ id: '7' }],
          totalCount: 3,
          open: {
            nodes: [
              { complete: false, count: 2 },
              { complete: true, count: 1 },
            ],
          },
          byKind: {
            __typename: 'OrderGroups',
            hasMore: false,
            nodes: [{ category: { name: 'Kind 2' } }],
          },
          types: { __typename: 'OrderGroups' },
        },
      },
    );
  });

  it('are those of each category or pet inside a list, in one statement for all of them', async () => {
    const query = `{ categories(first: 2) { nodes { pets(first: 2, filter: { ids: [1, 2, 5] }) {
        groups(by: STATUS) { nodes { status count } }
        nodes { orders(filter: { complete: true }) { groups(by: PET_ID) { nodes { petId count } } } }
      } } } }`;
    const data = {
      categories: {
        nodes: [
          {
            pets: {
              groups: {
                nodes: [
                  { status: 'AVAILABLE', count: 1 },
                  { status: 'PENDING', count: 1 },
                ],
              },
              nodes: [petWith('1', 11), petWith('5', 10)],
            },
          },
          {
            pets: {
              groups: { nodes: [{ status: 'PENDING', count: 1 }] },
              nodes: [petWith('2', 1)],
            },
          },
        ],
      },
    };
    gateway.statements.length = 0;
    expect(await gateway.data(query)).toEqual(data);
    expect(gateway.statements).toHaveLength(5);
    await expectOneStatement(`${query} `, data);
  });

  it('by two columns of a related row read this row once', async () => {
    await expectOneStatement(
      `{ inventory(filter: { petIds: [1, 2, 5] }) {
          groups(by: [STATUS, CATEGORY_ID]) { nodes { status categoryId count sum { quantity } } } } }`,
      {
        inventory: {
          groups: {
            nodes: [
              { status: 'AVAILABLE', categoryId: '1', count: 1, sum: { quantity: 0 } },
              { status: 'PENDING', categoryId: '1', count: 1, sum: { quantity: 4 } },
              { status: 'PENDING', categoryId: '2', count: 1, sum: { quantity: 1 } },
            ],
          },
        },
      },
    );
  });

  it.each([
    ['no key', []],
    ['three keys', ['PET_ID', 'COMPLETE', 'CATEGORY_ID']],
    ['a key twice', ['PET_ID', 'PET_ID']],
  ])('are rejected with the place of the mistake: %s', async (_what, by) => {
    for (let time = 0; time <= TIMES_UNTIL_COMPILED; time += 1) {
      const { errors } = await gateway.graphql(queryOf([]), { by });
      expect(errors).toMatchObject([
        {
          message: 'by: must be one key, or two different keys.',
          extensions: { code: 'INVALID_INPUT', issues: [{ path: ['by'] }] },
        },
      ]);
    }
  });

  it('fail only in the day that JSON does not have, which graphql-js reports', async () => {
    await run('alter table orders drop constraint orders_ship_date_check');
    await run(`insert into orders (id, pet_id, quantity, ship_date, complete)
          overriding system value values (9001, 130, 1, 'infinity', true), (9002, 130, 1, '0044-03-15 BC', true)`);
    const query = `{ orders(filter: { ids: [9001, 9002] }) {
        groups(by: [SHIP_DATE_DAY, SHIP_DATE_MONTH]) { nodes { shipDateDay shipDateMonth count } } } }`;
    for (let time = 0; time <= TIMES_UNTIL_COMPILED; time += 1) {
      const { data, errors } = await gateway.graphql(query);
      const none = { shipDateDay: null, shipDateMonth: null, count: 1 };
      expect(data).toEqual({ orders: { groups: { nodes: [none, none] } } });
      expect(errors).toHaveLength(4);
    }
    gateway.loggedErrors.length = 0;
  });
});
