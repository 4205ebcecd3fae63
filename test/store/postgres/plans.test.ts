import { Client, escapeLiteral, type QueryResult } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Database } from '../../../src/database/database.ts';
import { openPostgres } from '../../../src/database/postgres.ts';
import type { Planning } from '../../../src/database/session.ts';
import { copyOnPostgres } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { TIMES_UNTIL_COMPILED } from '../../support/post.ts';
import { rounds } from '../../support/rounds.ts';

// Pets are in the first 500 of 50,000 categories. One in 25 is sold, one in 500 pending; one order
// in 50 is open, without a date or with one that comes last, as in a real store. Every name has its
// number, so that a number is a rare part of a name. One pet in 19 has no inventory entry, and
// category 501 has 60 pets. One order in 20 is for pet 90,001.
// The statistics cover all rows: with a sample of them, plans would depend on chance.
// As a replica, the session does not look up the row of each foreign key.
const FILL = `
  set default_statistics_target = 400;
  set session_replication_role = replica;
  insert into categories (name)
    select 'Kind ' || (n * 7919 % 50000) from generate_series(1, 50000) as n;
  insert into pets (name, category_id, status)
    select (array['Cleo', 'Rex', 'Luna', 'Milo', 'Nala', 'Otto', 'Pia', 'Sam'])[n % 8 + 1]
        || ' ' || (n * 7919 % 100000),
      case when n % 1666 = 11 then 501 else n % 500 + 1 end,
      (case when n % 500 = 3 then 'pending' when n % 25 = 7 then 'sold' else 'available' end)::pet_status
    from generate_series(1, 100000) as n;
  insert into inventory_items (pet_id, quantity)
    select n, n * 7919 % 5000 from generate_series(1, 100000) as n where n % 19 <> 5;
  insert into orders (pet_id, quantity, ship_date, complete)
    select case when n % 20 = 6 then 90001 else n * 7919 % 90000 + 1 end, n % 9 + 1,
      case when n % 10 > 0 then timestamptz '2026-01-01' + n * interval '5 min' end,
      n <= 98000
    from generate_series(1, 100000) as n;
  insert into changes (transaction, id, type, row_id, kind, after)
    select n / 200 + 1, n,
      case when n % 1000 = 7 then 'Category' when n % 2 = 0 then 'Order' else 'InventoryItem' end,
      n, 'created', '{}'
    from generate_series(1, 50000) as n;
  reset session_replication_role`;

type Value = string | number | boolean | null;

interface Statement {
  sql: string;
  parameters: (Value | Value[])[];
  planning: Planning;
}

interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  Filter?: string;
  'Rows Removed by Filter'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: Node[];
}

let gateway: Gateway;
let client: Client;
const sent: Statement[] = [];

/** Fills the tables. Indexes are created afterwards, which takes a third of the time. */
async function fill(): Promise<void> {
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes
     where schemaname = 'public' and indexname !~ '_pkey$'`,
  );
  await client.query(`drop index ${indexes.map(({ name }) => name).join(', ')}`);
  await client.query(FILL);
  await client.query(indexes.map(({ definition }) => definition).join(';'));
  await client.query('vacuum (analyze) categories, pets, inventory_items, orders, changes');
}

beforeAll(async () => {
  const { url, drop } = await copyOnPostgres();
  client = new Client({ connectionString: url });
  await client.connect();
  await fill();
  gateway = await startGateway({}, async (config, log) => {
    const db = await openPostgres(url, config, log);
    const close = async (): Promise<void> => {
      await Promise.all([db.close(), client.end()]);
      await drop();
    };
    const query: Database['query'] = (statement, planning = 'once') => {
      const parameters = statement.values as Statement['parameters'];
      sent.push({ sql: statement.text, parameters, planning });
      return db.query(statement, planning);
    };
    const write: Database['write'] = (statement) => {
      const parameters = statement.values as Statement['parameters'];
      sent.push({ sql: statement.text, parameters, planning: 'once' });
      return db.write(statement);
    };
    return { ...db, query, write, close };
  });
  gateway.db.prisma.$on('query' as never, (event: { query: string; params: string }) => {
    sent.push({
      sql: event.query,
      parameters: JSON.parse(event.params) as Statement['parameters'],
      planning: 'once',
    });
  });
});
afterAll(() => gateway.close());

function toLiteral(value: Value | Value[]): string {
  if (value === null) return 'null';
  if (!Array.isArray(value)) return escapeLiteral(String(value));
  return escapeLiteral(`{${value.map((item) => JSON.stringify(String(item))).join(',')}}`);
}

interface Plan {
  /** The names of the indexes that it uses, separated by spaces. */
  indexes: string;
  /** The tables that it scans sequentially. */
  scanned: string[];
  rowsRead: number;
  /** Blocks of 8 kB, from disk or from memory. */
  blocksRead: number;
  /** The values that a condition converts again for each row, which takes longer than to compare them. */
  converting: string[];
}

// Of a text as a value, or of a parameter.
const CONVERSION = /('::cstring|\$\d+)\)::[\w ]+/g;

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

function toPlan(root: Node): Plan {
  const nodes = nodesOf(root);
  const reads = nodes.filter((node) => node['Relation Name'] !== undefined);
  return {
    indexes: nodes.flatMap((node) => node['Index Name'] ?? []).join(' '),
    scanned: reads
      .filter((node) => node['Node Type'].endsWith('Seq Scan'))
      .map((node) => node['Relation Name'] ?? ''),
    rowsRead: reads.reduce(
      (sum, node) =>
        sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
      0,
    ),
    blocksRead: root['Shared Hit Blocks'] + root['Shared Read Blocks'],
    converting: nodes.flatMap(({ Filter = '' }) => Filter.match(CONVERSION) ?? []),
  };
}

/**
 * Returns the plans of a statement: for its values, and for any values if PostgreSQL may come to use
 * such a generic plan.
 */
async function explain({ sql, parameters, planning }: Statement): Promise<Plan[]> {
  const values = parameters.length > 0 ? `(${parameters.map(toLiteral).join(', ')})` : '';
  const measured = `explain (analyze, buffers, timing off, format json) execute sent${values};`;
  const modes = planning === 'once' ? ['custom', 'generic'] : ['custom'];
  const plans = modes.map(async (mode) => {
    const results = (await client.query(
      `begin; set local plan_cache_mode = force_${mode}_plan;
      prepare sent as ${sql}; ${measured} rollback; deallocate sent`,
    )) as unknown as QueryResult<{ 'QUERY PLAN': [{ Plan: Node }] }>[];
    return results.flatMap(({ rows }) => rows.map((row) => toPlan(row['QUERY PLAN'][0].Plan)));
  });
  return (await Promise.all(plans)).flat();
}

/** Returns the statements that an operation sends. */
async function statementsOf(operation: string): Promise<Statement[]> {
  sent.length = 0;
  await gateway.data(operation);
  return sent.filter(({ sql }) => /^\s*(select|insert|update|delete|with)\b/i.test(sql));
}

const TABLE_ROWS = 100_000;

const FEW_ROWS = TABLE_ROWS / 10;

/** Expects each statement to use its index (`|` separates alternatives) and to read few rows. */
async function expectIndexes(
  statements: Statement[],
  indexes: string[],
  fewRows = FEW_ROWS,
): Promise<Plan[]> {
  expect(statements).toHaveLength(indexes.length);
  const plans = [];
  for (const [place, statement] of statements.entries()) {
    const { sql } = statement;
    const index = new RegExp(`\\b(${indexes[place]})\\b`);
    for (const plan of await explain(statement)) {
      expect({ sql, ...plan }).toMatchObject({
        sql,
        scanned: [],
        indexes: expect.stringMatching(index) as string,
        converting: [],
      });
      expect(plan.rowsRead).toBeLessThan(fewRows);
      plans.push(plan);
    }
  }
  return plans;
}

/** Returns a cursor of a list. */
async function cursorOf(list: string, args: string, end: 'start' | 'end'): Promise<string> {
  const { page } = await gateway.data(
    `{ page: ${list}(${args}) { pageInfo { cursor: ${end}Cursor } } }`,
  );
  return JSON.stringify(page.pageInfo.cursor);
}

const SOME_IDS = Array.from({ length: 100 }, (_, index) => `"${index * 977 + 1}"`).join();
const A_DAY = '{ from: "2026-08-01T00:00:00Z", before: "2026-08-02T00:00:00Z" }';

// If two indexes are named, the first page uses the first. Which is better for the other pages depends
// on how many rows follow the cursor.
const LISTS = [
  ['categories by id', 'categories', '', 'categories_pkey'],
  ['categories by name', 'categories', 'orderBy: { field: NAME }', 'categories_name_id_idx'],
  [
    'categories by name, descending',
    'categories',
    'orderBy: { field: NAME, direction: DESC }',
    'categories_name_id_idx',
  ],
  [
    'categories with a text in their name',
    'categories',
    'filter: { name: "D 12345" }',
    'categories_name_trgm_idx|categories_pkey',
  ],
  [
    'categories with a text in their name, by name',
    'categories',
    'filter: { name: "D 12345" }, orderBy: { field: NAME }',
    'categories_name_trgm_idx',
  ],

  ['pets by id', 'pets', '', 'pets_pkey'],
  ['pets by id, descending', 'pets', 'orderBy: { field: ID, direction: DESC }', 'pets_pkey'],
  ['pets by name', 'pets', 'orderBy: { field: NAME }', 'pets_name_id_idx'],
  [
    'pets by name, descending',
    'pets',
    'orderBy: { field: NAME, direction: DESC }',
    'pets_name_id_idx',
  ],
  ['pets that are sold', 'pets', 'filter: { status: [SOLD] }', 'pets_status_id_idx|pets_pkey'],
  ['pets that are pending', 'pets', 'filter: { status: [PENDING] }', 'pets_status_id_idx'],
  [
    'pets that are sold, by name',
    'pets',
    'filter: { status: [SOLD] }, orderBy: { field: NAME }',
    'pets_status_name_id_idx',
  ],
  [
    'pets that are sold or pending',
    'pets',
    'filter: { status: [SOLD, PENDING] }',
    'pets_pkey|pets_status_id_idx',
  ],
  ['pets of a category', 'pets', 'filter: { categoryId: "77" }', 'pets_category_id_id_idx'],
  [
    'pets of a category, by name',
    'pets',
    'filter: { categoryId: "77" }, orderBy: { field: NAME }',
    'pets_category_id_name_id_idx',
  ],
  ['pets with a text in their name', 'pets', 'filter: { name: "O 1234" }', 'pets_name_trgm_idx'],
  [
    'pets with a text in their name, by name',
    'pets',
    'filter: { name: "O 1234" }, orderBy: { field: NAME }',
    'pets_name_trgm_idx',
  ],

  ['pets with some ids', 'pets', `filter: { ids: [${SOME_IDS}] }`, 'pets_pkey'],
  [
    'pets with some ids, by name',
    'pets',
    `filter: { ids: [${SOME_IDS}] }, orderBy: { field: NAME }`,
    'pets_pkey',
  ],

  ['inventory entries by pet', 'inventory', '', 'inventory_items_pkey'],
  [
    'inventory entries by quantity',
    'inventory',
    'orderBy: { field: QUANTITY }',
    'inventory_items_quantity_pet_id_idx',
  ],
  [
    'inventory entries by quantity, descending',
    'inventory',
    'orderBy: { field: QUANTITY, direction: DESC }',
    'inventory_items_quantity_pet_id_idx',
  ],
  [
    'inventory entries of few units',
    'inventory',
    'filter: { maxQuantity: 3 }',
    'inventory_items_quantity_pet_id_idx',
  ],
  [
    'inventory entries of few units, by quantity',
    'inventory',
    'filter: { maxQuantity: 3 }, orderBy: { field: QUANTITY }',
    'inventory_items_quantity_pet_id_idx',
  ],
  [
    'inventory entries of sold pets',
    'inventory',
    'filter: { status: [SOLD] }',
    'pets_status_id_idx|pets_pkey',
  ],
  [
    'inventory entries of sold pets, by quantity',
    'inventory',
    'filter: { status: [SOLD] }, orderBy: { field: QUANTITY }',
    'inventory_items_quantity_pet_id_idx',
  ],

  [
    'inventory entries of many units',
    'inventory',
    'filter: { minQuantity: 4997 }',
    'inventory_items_quantity_pet_id_idx',
  ],
  [
    'inventory entries of many units, by quantity',
    'inventory',
    'filter: { minQuantity: 4997 }, orderBy: { field: QUANTITY }',
    'inventory_items_quantity_pet_id_idx',
  ],

  ['orders by id', 'orders', '', 'orders_pkey'],
  ['orders by ship date', 'orders', 'orderBy: { field: SHIP_DATE }', 'orders_ship_date_id_idx'],
  [
    'orders by ship date, descending',
    'orders',
    'orderBy: { field: SHIP_DATE, direction: DESC }',
    'orders_ship_date_id_idx',
  ],
  ['orders of a pet', 'orders', 'filter: { petId: "78" }', 'orders_pet_id_id_idx'],
  [
    'orders of a pet, by ship date',
    'orders',
    'filter: { petId: "78" }, orderBy: { field: SHIP_DATE }',
    'orders_pet_id_ship_date_id_idx',
  ],
  ['orders that are open', 'orders', 'filter: { complete: false }', 'orders_complete_id_idx'],
  [
    'orders that are open, by ship date',
    'orders',
    'filter: { complete: false }, orderBy: { field: SHIP_DATE }',
    'orders_complete_ship_date_id_idx',
  ],
  [
    'orders that are open, by ship date, descending',
    'orders',
    'filter: { complete: false }, orderBy: { field: SHIP_DATE, direction: DESC }',
    'orders_complete_ship_date_id_idx',
  ],
  [
    'orders of a day',
    'orders',
    `filter: { shipDate: ${A_DAY} }`,
    'orders_(complete_)?ship_date_id_idx',
  ],
  [
    'orders of a day, by ship date',
    'orders',
    `filter: { shipDate: ${A_DAY} }, orderBy: { field: SHIP_DATE }`,
    'orders_(complete_)?ship_date_id_idx',
  ],
  [
    'orders with a date, by ship date, descending',
    'orders',
    'filter: { shipDate: { from: "2026-01-01T00:00:00Z" } }, orderBy: { field: SHIP_DATE, direction: DESC }',
    'orders_ship_date_id_idx',
  ],
  [
    'open orders until a date, by ship date',
    'orders',
    'filter: { complete: false, shipDate: { before: "2026-12-10T00:00:00Z" } }, orderBy: { field: SHIP_DATE }',
    'orders_complete_ship_date_id_idx',
  ],
  [
    'orders of a day of a pet of many orders, by ship date',
    'orders',
    `filter: { petId: "90001", shipDate: ${A_DAY} }, orderBy: { field: SHIP_DATE }`,
    'orders_pet_id_ship_date_id_idx',
  ],
] as const;

// The first rows that meet such a filter can be anywhere in the list, so these pages differ in what they
// cost. With a cursor, PostgreSQL may read the list in its order: it knows no order by two tables.
const FEW_ROWS_OF_SEARCH = TABLE_ROWS / 5;
const PAGES = ['first: 20', 'last: 20, before:', 'last: 20', 'first: 20, after:'];
const SEARCHES = [
  ['pets in stock', 'pets', 'filter: { inStock: true }', 'pets_pkey'],
  [
    'pets in stock, by name',
    'pets',
    'filter: { inStock: true }, orderBy: { field: NAME }',
    'pets_name_id_idx',
  ],
  ['pets without stock', 'pets', 'filter: { inStock: false }', 'pets_pkey'],
  [
    'pets without stock, by name',
    'pets',
    'filter: { inStock: false }, orderBy: { field: NAME }',
    'pets_name_id_idx',
  ],
  [
    'pending pets in stock',
    'pets',
    'filter: { status: [PENDING], inStock: true }',
    'pets_status_id_idx',
  ],
  [
    'pets of a category without stock, by name',
    'pets',
    'filter: { categoryId: "77", inStock: false }, orderBy: { field: NAME }',
    'pets_category_id_((name|status)_)?id_idx',
  ],
  [
    'inventory entries of a category',
    'inventory',
    'filter: { categoryId: "501" }',
    'pets_category_id_id_idx',
  ],
  [
    'inventory entries of a category, by quantity',
    'inventory',
    'filter: { categoryId: "501" }, orderBy: { field: QUANTITY }',
    'pets_category_id_id_idx',
  ],
] as const;

describe('a page', () => {
  it.each(LISTS)('of %s uses its index at either end', async (_what, list, args, index) => {
    const nearEnd = await cursorOf(list, `${args}, last: 50`, 'start');
    const nearStart = await cursorOf(list, `${args}, first: 50`, 'end');
    const blocks = [];
    const pages = [
      'first: 20',
      'last: 20',
      `first: 20, after: ${nearEnd}`,
      `last: 20, before: ${nearEnd}`,
      `first: 20, before: ${nearStart}`,
      `last: 20, before: ${nearStart}`,
    ];
    for (const page of pages.slice(0, rounds(3, 6))) {
      const statements = await statementsOf(
        `{ ${list}(${args}, ${page}) { nodes { __typename } } }`,
      );
      const expected = page === 'first: 20' ? index.replace(/\|.*/, '') : index;
      const plans = await expectIndexes(statements, [expected]);
      blocks.push(Math.max(...plans.map(({ blocksRead }) => blocksRead)));
    }
    const [first = 0, ...others] = blocks;
    expect(Math.max(...others)).toBeLessThan(2 * first + 50);
  });

  it.each(SEARCHES)('of %s reads few rows', async (_what, list, args, index) => {
    const nearEnd = await cursorOf(list, `${args}, last: 50`, 'start');
    for (const page of PAGES.slice(0, rounds(2, 4))) {
      const cursor = page.endsWith(':') ? nearEnd : '';
      await expectIndexes(
        await statementsOf(`{ ${list}(${args}, ${page}${cursor}) { nodes { __typename } } }`),
        [index],
        FEW_ROWS_OF_SEARCH,
      );
    }
  });

  it.each([
    ['/store/orders?limit=1000'],
    ['/store/orders?limit=1000&after=98000'],
    ['/store/orders?after=98000'],
  ])('of REST uses its index: %s', async (path) => {
    sent.length = 0;
    expect((await gateway.rest(path)).status).toBe(200);
    await expectIndexes(sent, ['orders_pkey']);
  });
});

const BY_TYPE = 'changes_type_transaction_id_kind_idx';

describe.each([
  ['', ''],
  [' without statistics', "delete from pg_statistic where starelid = 'changes'::regclass"],
])('a page of changes%s', (_how, before) => {
  beforeAll(async () => {
    if (before) await client.query(before);
  });

  it.each([
    ['all types', '', 'changes_pkey'],
    ['a rare type', 'filter: { types: [CATEGORY] }', BY_TYPE],
    ['a frequent type', 'filter: { types: [ORDER] }', `changes_pkey|${BY_TYPE}`],
  ])('of %s reads few of the others', async (_what, filter, index) => {
    for (const page of ['first: 20', 'last: 20']) {
      await expectIndexes(
        await statementsOf(`{ changes(${filter}, ${page}) { nodes { __typename } } }`),
        [index],
        100,
      );
    }
  });

  it('of a rare type counts only its changes', async () => {
    const query = '{ changes(first: 0, filter: { types: [CATEGORY] }) { totalCount } }';
    await expectIndexes((await statementsOf(query)).slice(-1), [BY_TYPE], 100);
  });
});

describe('a page in the middle of a list by id', () => {
  const after = Buffer.from('["ID","50000"]').toString('base64url');
  const afterPet = Buffer.from('["PET_ID","50000"]').toString('base64url');

  it.each([
    ['pets', '{ inStock: true }', after, 'pets_pkey'],
    ['pets', '{ inStock: false }', after, 'pets_pkey'],
    ['inventory', '{ status: [AVAILABLE] }', afterPet, 'inventory_items_pkey'],
    ['inventory', '{ categoryId: "77" }', afterPet, 'inventory_items_pkey'],
  ])('of %s by %s does not read the rows before', async (list, filter, cursor, index) => {
    for (const page of [`first: 20, after: "${cursor}"`, `last: 20, before: "${cursor}"`]) {
      const query = `{ ${list}(filter: ${filter}, ${page}) { nodes { __typename } } }`;
      await expectIndexes(await statementsOf(query), [index], 1000);
    }
  });
});

describe('reading by id', () => {
  it.each([
    ['category(id: "9") { name }', 'categories_pkey', 1],
    // With its category.
    ['pet(id: "9") { name }', 'pets_pkey', 2],
    ['inventoryItem(petId: "9") { quantity }', 'inventory_items_pkey', 1],
    ['order(id: "9") { quantity }', 'orders_pkey', 1],
  ])('uses its index: %s', async (fields, index, rows) => {
    const plans = await expectIndexes(await statementsOf(`{ ${fields} }`), [index]);
    for (const { rowsRead } of plans) expect(rowsRead).toBe(rows);
  });

  it('of REST uses its index', async () => {
    sent.length = 0;
    expect((await gateway.rest('/pets/9')).status).toBe(200);
    await expectIndexes(sent, ['pets_pkey']);
  });
});

const RELATIONS = [
  ['category', 'pets { nodes { category { name } } }', 'categories_pkey'],
  ['inventory', 'pets { nodes { inventory { quantity } } }', 'inventory_items_pkey'],
  ['pet of an order', 'orders { nodes { pet { name } } }', 'pets_pkey'],
  ['pet of an entry', 'inventory { nodes { status pet { name } } }', 'pets_pkey'],
  ['pets', 'categories { nodes { pets { nodes { id } } } }', 'pets_category_id_id_idx'],
  [
    'last pets',
    'categories { nodes { pets(last: 2) { nodes { id } } } }',
    'pets_category_id_id_idx',
  ],
  [
    'pets by name',
    'categories { nodes { pets(orderBy: { field: NAME }) { nodes { id } } } }',
    'pets_category_id_name_id_idx',
  ],
  [
    'pets by name, descending',
    'categories { nodes { pets(orderBy: { field: NAME, direction: DESC }) { nodes { id } } } }',
    'pets_category_id_name_id_idx',
  ],
  [
    'sold pets',
    'categories { nodes { pets(filter: { status: [SOLD] }) { nodes { id } } } }',
    'pets_category_id_status_id_idx',
  ],
  ['orders', 'pets { nodes { orders { nodes { id } } } }', 'orders_pet_id_id_idx'],
  ['last orders', 'pets { nodes { orders(last: 2) { nodes { id } } } }', 'orders_pet_id_id_idx'],
  [
    'orders by ship date',
    'pets { nodes { orders(orderBy: { field: SHIP_DATE }) { nodes { id } } } }',
    'orders_pet_id_ship_date_id_idx',
  ],
  [
    'open orders',
    'pets { nodes { orders(filter: { complete: false }) { nodes { id } } } }',
    'orders_pet_id_id_idx',
  ],
  [
    'pets in stock',
    'categories { nodes { pets(filter: { inStock: true }) { nodes { id } } } }',
    'pets_category_id_id_idx',
  ],
  [
    'pets without stock, by name',
    'categories { nodes { pets(filter: { inStock: false }, orderBy: { field: NAME }) { nodes { id } } } }',
    'pets_category_id_((name|status)_)?id_idx',
  ],
  [
    'pets with some ids',
    `categories { nodes { pets(filter: { ids: [${SOME_IDS}] }) { nodes { id } } } }`,
    'pets_category_id_((name|status)_)?id_idx',
  ],
  [
    'orders of a day',
    `pets { nodes { orders(filter: { shipDate: ${A_DAY} }) { nodes { id } } } }`,
    'orders_pet_id_(ship_date_)?id_idx',
  ],
  [
    'orders of a day, by ship date',
    `pets { nodes { orders(filter: { shipDate: ${A_DAY} }, orderBy: { field: SHIP_DATE }) { nodes { id } } } }`,
    'orders_pet_id_ship_date_id_idx',
  ],
] as const;

describe('a relation', () => {
  it.each(RELATIONS)('uses its index: %s', async (_what, fields, index) => {
    const [, ...statements] = await statementsOf(`{ ${fields} }`);
    await expectIndexes(statements, [index]);
  });
});

const COUNTS = [
  ['categories(filter: { name: "D 12345" })', 'categories_name_trgm_idx'],
  ['pets(filter: { status: [SOLD] })', 'pets_status_id_idx'],
  ['pets(filter: { status: [SOLD, PENDING] })', 'pets_status_id_idx'],
  ['pets(filter: { categoryId: "77" })', 'pets_category_id_(name|status)_id_idx'],
  ['pets(filter: { name: "O 1234" })', 'pets_name_trgm_idx'],
  ['inventory(filter: { maxQuantity: 3 })', 'inventory_items_quantity_pet_id_idx'],
  ['inventory(filter: { status: [PENDING] })', 'pets_status_id_idx'],
  [`pets(filter: { ids: [${SOME_IDS}] })`, 'pets_pkey'],
  ['inventory(filter: { minQuantity: 4997 })', 'inventory_items_quantity_pet_id_idx'],
  ['inventory(filter: { categoryId: "77" })', 'pets_category_id_((name|status)_)?id_idx'],
  [`orders(filter: { shipDate: ${A_DAY} })`, 'orders_(complete_)?ship_date_id_idx'],
  ['orders(filter: { petId: "78" })', 'orders_pet_id_(ship_date_)?id_idx'],
  ['orders(filter: { complete: false })', 'orders_complete_id_idx'],
  ['categories { nodes { pets', 'pets_category_id_(name|status)_id_idx'],
  ['pets { nodes { orders', 'orders_pet_id_(ship_date_)?id_idx'],
] as const;

/** Returns the query for the count of a list. */
function countOf(list: string): string {
  const end = list.includes('nodes') ? '} }' : '';
  return `{ ${list} { totalCount } ${end} }`;
}

describe('a count', () => {
  it.each(COUNTS)('uses its index: %s', async (list, index) => {
    const statements = await statementsOf(countOf(list));
    await expectIndexes(statements.slice(-1), [index]);
  });
});

/** Expects that a query is compiled to one statement, which uses an index. */
async function expectIndexOfCompiled(
  query: string,
  index: string,
  fewRows?: number,
): Promise<void> {
  for (let time = 1; time < TIMES_UNTIL_COMPILED; time += 1) await gateway.data(query);
  await expectIndexes(await statementsOf(query), [index], fewRows);
}

/** Returns the arguments of some pages. */
const pagesOfCompiled = (cursor: string): string[] =>
  [`first: 20, after: ${cursor}`, 'first: 20', 'last: 20'].slice(0, rounds(1, 3));

describe('a compiled query', () => {
  it.each(LISTS)('for a page of %s uses its index', async (_what, list, args, index) => {
    const middle = await cursorOf(list, `${args}, first: 50`, 'end');
    for (const page of pagesOfCompiled(middle)) {
      await expectIndexOfCompiled(`{ ${list}(${args}, ${page}) { nodes { __typename } } }`, index);
    }
  });

  it.each(SEARCHES)('for a page of %s reads few rows', async (_what, list, args, index) => {
    const middle = await cursorOf(list, `${args}, last: 50`, 'start');
    for (const page of pagesOfCompiled(middle)) {
      const query = `{ ${list}(${args}, ${page}) { nodes { __typename } } }`;
      await expectIndexOfCompiled(query, index, FEW_ROWS_OF_SEARCH);
    }
  });

  it.each(RELATIONS)('with a relation uses its index: %s', async (_what, fields, index) => {
    await expectIndexOfCompiled(`{ ${fields} }`, index);
  });

  it.each(COUNTS)('for a count uses its index: %s', async (list, index) => {
    await expectIndexOfCompiled(countOf(list), index);
  });
});

describe('a write', () => {
  it.each([
    ['updateCategory(id: "9", input: { name: "Cats" })', ['categories_pkey']],
    ['updatePet(id: "9", input: { name: "Cleo" })', ['pets_pkey']],
    ['updateInventory(petId: "9", input: { quantity: 5 }, expectedQuantity: 1271)', ['pets_pkey']],
    ['placeOrder(input: { petId: "9", quantity: 1 })', ['pets_pkey']],
    ['rescheduleOrder(id: "99999", shipDate: null)', ['orders_pkey']],
    ['completeOrder(id: "99998")', ['orders_pkey']],
    ['cancelOrder(id: "99997")', ['orders_pkey']],
    ['deletePet(id: "99996")', ['pets_pkey']],
    ['deleteCategory(id: "19999")', ['categories_pkey']],
  ])('finds its row by its index: %s', async (mutation, indexes) => {
    const statements = await statementsOf(`mutation { ${mutation} { __typename } }`);
    await expectIndexes(statements, indexes);
  });
});

describe('a deletion', () => {
  it.each([
    ['a category', 'pets', 'category_id', 'pets_category_id'],
    ['a pet', 'orders', 'pet_id', 'orders_pet_id_'],
    ['a pet', 'inventory_items', 'pet_id', 'inventory_items_pkey'],
  ])('of %s finds its %s by an index', async (_what, table, column, index) => {
    // This is how PostgreSQL checks a foreign key (ri_triggers.c).
    const sql = `select 1 from only ${table} x where ${column} = $1 for key share of x`;
    for (const plan of await explain({ sql, parameters: ['77'], planning: 'once' })) {
      expect(plan.scanned).toEqual([]);
      expect(plan.indexes).toMatch(index);
    }
  });

  it.each([
    ['pets', 95_000],
    ['categories', 15_000],
  ])('from %s scans no other table', async (table, id) => {
    const scans = async (): Promise<number> => {
      const { rows } = await client.query<{ scans: string }>(
        'select sum(seq_scan) as scans from pg_stat_xact_user_tables',
      );
      return Number(rows[0]?.scans);
    };
    await client.query('begin');
    const before = await scans();
    const { rowCount } = await client.query(`delete from ${table} where id = ${id}`);
    const after = await scans();
    await client.query('rollback');
    expect(rowCount).toBe(1);
    expect(after - before).toBe(0);
  });
});

describe('a page of pets in stock, of which there are few', () => {
  const FEW = 100;
  const index = 'inventory_items_(in_stock|quantity_pet_id)_idx';
  beforeAll(async () => {
    await client.query(
      `update inventory_items set quantity = 0 where pet_id <= ${TABLE_ROWS - FEW}`,
    );
    await client.query('vacuum (analyze) inventory_items');
  });

  it.each(['ID', 'NAME'])('ordered by %s reads no other pets', async (field) => {
    for (const page of ['first: 20', 'last: 20']) {
      const statements = await statementsOf(
        `{ pets(filter: { inStock: true }, orderBy: { field: ${field} }, ${page}) { nodes { id } } }`,
      );
      await expectIndexes(statements, [index], 3 * FEW);
    }
  });

  it('is counted without the other pets', async () => {
    const statements = await statementsOf('{ pets(filter: { inStock: true }) { totalCount } }');
    await expectIndexes(statements.slice(-1), [index], 3 * FEW);
  });
});
