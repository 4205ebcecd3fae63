import {
  getNamedType,
  type GraphQLEnumType,
  getNullableType,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  isEnumType,
  isListType,
  isObjectType,
} from 'graphql';
import { Client, escapeLiteral, type QueryConfig, type QueryResult } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';

import { petStore } from '../../../src/store/index.ts';
import { useProgramStore } from '../../support/databases.ts';
import { type Data, type Gateway, openAt, startGateway } from '../../support/gateway.ts';
import { TIMES_UNTIL_COMPILED } from '../../support/post.ts';
import { connect } from '../../support/postgres.ts';
import { insertSql, MODELS, referSql } from '../../support/rows.ts';

const { schema } = petStore;

// Of the 50,000 categories, only 501 have pets: number 501 has 61 pets, and the first 500 have all the others. One pet
// in 25 is sold, one in 500 is pending, and one in 19 has no inventory item. One order in 50 is open, and has no ship
// date or a late one, as in a real store. One order in 20 is for pet 90,001. Each name in a table contains a different
// number, so that a search for a number matches few names. Other columns and tables have values that are derived from
// the model, and refer to the first 500 rows of other tables.
const COLUMNS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  categories: { name: `'Kind ' || (n * 7919 % 50000)`, description: 'null' },
  pets: {
    name: `(array['Cleo', 'Rex', 'Luna', 'Milo', 'Nala', 'Otto', 'Pia', 'Sam'])[n % 8 + 1]
      || ' ' || (n * 7919 % 100000)`,
    category_id: 'case when n % 1666 = 11 then 501 else n % 500 + 1 end',
    status: `(case when n % 500 = 3 then 'pending' when n % 25 = 7 then 'sold' else 'available' end)::pet_status`,
  },
  inventory_items: { pet_id: 'n', quantity: 'n * 7919 % 5000' },
  orders: {
    pet_id: 'case when n % 20 = 6 then 90001 else n * 7919 % 90000 + 1 end',
    quantity: 'n % 9 + 1',
    ship_date: `case when n % 10 > 0 then timestamptz '2026-01-01' + n * interval '5 min' end`,
    complete: 'n <= 98000',
  },
};
const ROWS = 100_000;
const FILL = [
  ...MODELS.map((model) => {
    const rows = model.name === 'categories' ? 50_000 : ROWS;
    const insert = insertSql(model, rows, 500, COLUMNS[model.name]);
    return model.name === 'inventory_items' ? `${insert} where n % 19 <> 5` : insert;
  }),
  ...MODELS.flatMap((model) => referSql(model, 500)),
  `insert into changes (transaction, id, type, row_id, kind, after)
    select n / 200 + 1, n,
      case when n % 1000 = 7 then 'Category' when n % 2 = 0 then 'Order' else 'InventoryItem' end,
      n, 'created', '{}'
    from generate_series(1, 50000) as n`,
];

/** Fills the tables of folded strings, whose triggers have not fired. */
const FILL_FOLDED = `do $$ declare folded record; begin
  for folded in select split_part(name, '_folded_', 1) as source, split_part(name, '_folded_', 2) as field, name
    from (select relname::text as name from pg_class where relkind = 'r' and relname ~ '_folded_') as tables
  loop
    execute format('insert into %I select id, folded(lower(%I)) from %I', folded.name, folded.field, folded.source);
  end loop;
end $$`;

interface Statement {
  request: string;
  sql: string;
  parameters: Data[];
  /** Whether PostgreSQL may keep its plan. */
  planning: 'once' | 'each';
}

let gateway: Gateway;
let client: Client;
const sending = vi.spyOn(Client.prototype, 'query');

/** Fills the tables, and creates their indexes afterwards, which takes a third of the time. */
async function fill(): Promise<void> {
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes
     where schemaname = 'public' and indexname !~ '_pkey$'`,
  );
  await client.query(`drop index ${indexes.map(({ name }) => name).join(', ')}`);
  // The statistics cover all rows, because plans that are based on a sample would depend on chance. With the role
  // `replica`, the session does not check foreign keys, and no trigger fires.
  await client.query('set default_statistics_target = 400; set session_replication_role = replica');
  await client.query(FILL.join(';'));
  await client.query(`reset session_replication_role; ${FILL_FOLDED}`);
  await client.query(indexes.map(({ definition }) => definition).join(';'));
  await client.query('vacuum (analyze)');
}

const store = useProgramStore();
beforeAll(async () => {
  client = await connect(store.url);
  await fill();
  // Costs are not tested here: two pages of 50 with a costly filter may exceed the default.
  gateway = await startGateway({ MAX_COST: '1000000' }, openAt(store));
  await gateway.db.samples.read();
});
afterAll(async () => {
  vi.restoreAllMocks();
  await gateway.close();
  await client.end();
});

function toLiteral(value: Data): string {
  if (value === null) return 'null';
  if (!Array.isArray(value)) return escapeLiteral(String(value));
  return escapeLiteral(`{${value.map((item: Data) => JSON.stringify(String(item))).join(',')}}`);
}

interface Plan {
  scanned: string[];
  rowsRead: number;
  /** What a condition converts or folds again for each row, which takes longer than the comparison. */
  converting: string[];
  /** How many rows it sorts to number them. */
  numbered: number;
}

// The conversion or folding of a value or a parameter, or the folding of a column for a search.
const CONVERSION = /('::cstring|\$\d+)\)::[\w ]+|folded\(\(*[$'"][^)]*|folded\(\S+ ~~/g;

const nodesOf = (node: Data): Data[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

function toPlan(root: Data): Plan {
  const nodes = nodesOf(root);
  const reads = nodes.filter((node) => node['Relation Name'] !== undefined);
  const numbered = nodes.filter((node) => node['Node Type'] === 'WindowAgg');
  return {
    numbered: Math.max(0, ...numbered.map((node) => node['Actual Rows'])),
    scanned: reads
      .filter((node) => node['Node Type'].endsWith('Seq Scan'))
      .map((node) => node['Relation Name']),
    rowsRead: reads.reduce(
      (sum, node) =>
        sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
      0,
    ),
    converting: nodes.flatMap(
      ({ Filter: filter, 'Recheck Cond': recheck }) =>
        `${filter} ${recheck}`.match(CONVERSION) ?? [],
    ),
  };
}

async function explain({ sql, parameters, planning }: Statement): Promise<Plan[]> {
  const values = parameters.length > 0 ? `(${parameters.map(toLiteral).join(', ')})` : '';
  const measured = `explain (analyze, timing off, format json) execute sent${values};`;
  const modes = planning === 'once' ? ['custom', 'generic'] : ['custom'];
  const plans: Plan[] = [];
  for (const mode of modes) {
    const results = (await client.query(
      `begin; set local plan_cache_mode = force_${mode}_plan;
      prepare sent as ${sql}; ${measured} rollback; deallocate sent`,
    )) as unknown as QueryResult[];
    const [row] = results.flatMap(({ rows }) => rows);
    plans.push(toPlan(row['QUERY PLAN'][0].Plan));
  }
  return plans;
}

async function sentFor(request: string, send: () => Promise<unknown>): Promise<Statement[]> {
  sending.mockClear();
  await send();
  const sent = sending.mock.calls.flatMap(([statement]): [string, Statement][] => {
    if (typeof statement !== 'object' || !('text' in statement)) return [];
    const { text: sql, values: parameters, name } = statement as QueryConfig;
    if (!parameters || !/^\s*(select|insert|update|delete|with)\b/i.test(sql)) return [];
    const planning = name ? 'once' : 'each';
    return [[`${sql} ${parameters.join()}`, { request, sql, parameters, planning }]];
  });
  // graphql-js sends the same statements each time.
  return [...new Map(sent).values()];
}

const CURE = `
It needs an index: on the column that a filter or a list of related rows compares with a value, if there is one, then on
what the statement is sorted by, then on the id, such as (category_id, (array[quantity]), id). See "A sort" in
CONTRIBUTING.md. If no index can help, because the filter is about another table or matches most rows of this test, add
it to FILTERS: as \`frequent\`, or with a value that few rows have. COLUMNS has the values of the rows.`;

async function expectFewRows(statements: readonly Statement[], limit: number): Promise<void> {
  expect(statements).not.toEqual([]);
  for (const statement of statements) {
    for (const { scanned, converting, rowsRead } of await explain(statement)) {
      const found = [
        ...(scanned.length > 0 ? [`scans all rows of ${scanned.join()}`] : []),
        ...(rowsRead < limit ? [] : [`reads ${Math.round(rowsRead)} rows instead of < ${limit}`]),
        ...(converting.length > 0 ? [`converts for each row: ${converting.join()}`] : []),
      ];
      if (found.length === 0) continue;
      expect.fail(`${statement.request}\n${found.join(', and ')}:\n${statement.sql}\n${CURE}`);
    }
  }
}

/** Returns a query's statements with graphql-js, and its compiled statement. */
const statementsOf = (query: string): Promise<Statement[]> =>
  sentFor(query, async () => {
    for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) await gateway.data(query);
  });

const FEW_ROWS = 5000;
// The first rows that match a filter on another table can be anywhere in the list, and no index sorts rows by two
// tables.
const FEW_ROWS_OF_SEARCH = 20_000;

const SOME_IDS = Array.from({ length: 100 }, (_, index) => `"${index * 977 + 1}"`).join();
const A_DAY = '{ from: "2026-08-01T00:00:00Z", before: "2026-08-02T00:00:00Z" }';

/**
 * Filters by type. A `frequent` filter matches many rows, or depends on another table: its pages may read more rows,
 * and its counts are not checked. For any other field of a filter, a value is derived from its type.
 */
const FILTERS: Record<string, { rare: string[]; frequent: string[] }> = {
  CategoryFilter: { rare: ['name: "D 12345"', `ids: [${SOME_IDS}]`], frequent: [] },
  PetFilter: {
    rare: [
      'status: [SOLD]',
      'status: [PENDING]',
      'status: [SOLD, PENDING]',
      'categoryId: "77"',
      'categoryIds: ["77"]',
      'name: "O 1234"',
      `ids: [${SOME_IDS}]`,
      'inStock: true, status: [PENDING]',
      'inStock: false, categoryId: "77"',
      'minQuantity: 4997',
    ],
    frequent: ['inStock: true', 'inStock: false', 'minQuantity: 2500', 'maxQuantity: 2500'],
  },
  InventoryFilter: {
    rare: ['maxQuantity: 3', 'minQuantity: 4997', `petIds: [${SOME_IDS}]`, 'name: "O 1234"'],
    frequent: [
      'status: [SOLD]',
      'status: [AVAILABLE]',
      'name: "cleo"',
      'categoryId: "501"',
      'categoryIds: ["501"]',
    ],
  },
  OrderFilter: {
    rare: [
      'petId: "78"',
      'complete: false',
      `shipDate: ${A_DAY}`,
      'shipDate: { before: "2026-12-10T00:00:00Z" }, complete: false',
      `shipDate: ${A_DAY}, petId: "90001"`,
      `ids: [${SOME_IDS}]`,
      'petIds: ["78"]',
      'petIds: ["78", "79", "80"]',
      'minQuantity: 10',
      'maxQuantity: 0',
    ],
    frequent: [
      'shipDate: { from: "2026-01-01T00:00:00Z" }',
      'petIds: ["78", "90001"]',
      'petStatus: [SOLD]',
      'categoryIds: ["501"]',
      'minQuantity: 9',
      'hasShipDate: true',
      'hasShipDate: false',
    ],
  },
};

/** Returns a query for a field of Query, or of the rows in the list of a type. */
function within(type: string, field: string): string {
  if (type === 'Query') return `{ ${field} }`;
  const list = Object.values(schema.getQueryType()?.getFields() ?? {}).find(
    (one) => getNamedType(one.type).name === `${type}Connection`,
  );
  return `{ ${list?.name} { nodes { ${field} } } }`;
}

// Values of filters that are not in FILTERS, by type. They may match many rows.
const VALUES: Readonly<Record<string, string>> = {
  ID: '"77"',
  Int: '2500',
  Boolean: 'true',
  String: '"12345"',
  TimeRange: A_DAY,
  DateRange: '{ from: "2026-08-01", before: "2026-08-02" }',
  DateTime: '"2026-08-01T00:00:00Z"',
  Date: '"2026-08-01"',
};

function filterBy({ name, type }: GraphQLInputField): string {
  const named = getNamedType(type);
  const value = isEnumType(named) ? named.getValues()[0]?.name : VALUES[named.name];
  if (value === undefined) throw new Error(`Add a value of ${named.name} to VALUES.`);
  return `${name}: ${isListType(getNullableType(type)) ? `[${value}]` : value}`;
}

const BOTH_ENDS = ['first: 20', 'last: 20'];

const LISTS = Object.values(schema.getTypeMap())
  .filter(isObjectType)
  .flatMap((parent) => {
    const type = parent.name;
    return Object.values(parent.getFields()).flatMap(({ name, args }) => {
      const [filter, order] = ['filter', 'orderBy'].map(
        (arg) => args.find((one) => one.name === arg)?.type as GraphQLInputObjectType | undefined,
      );
      if (!filter || !order) return [];
      const keys = getNamedType(order.getFields()['field']?.type) as GraphQLEnumType;
      return [{ type, name, filter, keys: keys.getValues().map((value) => value.name) }];
    });
  });

/** Returns the arguments of four pages: the first, the last, and one near each end of the list. */
async function pagesOf(list: string, args: string): Promise<string[]> {
  const { start, end } = await gateway.data(
    `{ start: ${list}(${args}, first: 50) { pageInfo { cursor: endCursor } }
       end: ${list}(${args}, last: 50) { pageInfo { cursor: startCursor } } }`,
  );
  return [
    ...BOTH_ENDS,
    `first: 20, after: ${JSON.stringify(end.pageInfo.cursor)}`,
    `last: 20, before: ${JSON.stringify(start.pageInfo.cursor)}`,
  ];
}

/** Returns all items in `npm run test:long`, and otherwise one item, chosen by `turn`. */
const some = <Item>(all: readonly Item[], turn: number): readonly Item[] =>
  all.filter((_item, index) => index === turn % all.length || inject('isLong'));

describe.each(LISTS)('the list $name of $type', ({ type, name, filter, keys }) => {
  const { rare, frequent: listed } = FILTERS[filter.name] ?? { rare: [], frequent: [] };
  const written = [...rare, ...listed].join();
  const others = Object.values(filter.getFields()).filter(
    (field) => !written.includes(`${field.name}: `),
  );
  const frequent = [...listed, ...others.map(filterBy)];
  const filters = ['', ...rare, ...frequent];

  it.each(filters)('reads few rows for a page with the filter $0', async (each) => {
    const limit = frequent.includes(each) ? FEW_ROWS_OF_SEARCH : FEW_ROWS;
    const index = filters.indexOf(each);
    for (const key of some(keys, index)) {
      const args = `filter: { ${each} }, orderBy: { field: ${key} }`;
      const pages = type === 'Query' ? await pagesOf(name, args) : BOTH_ENDS;
      for (const page of some(pages, Math.floor(index / keys.length))) {
        const query = within(type, `${name}(${args}, ${page}) { nodes { __typename } }`);
        await expectFewRows(await statementsOf(query), limit);
      }
    }
  });

  it.each(type === 'Query' ? rare : ['', ...rare])(
    'reads few rows for a count with the filter $0',
    async (each) => {
      const query = within(type, `${name}(filter: { ${each} }) { totalCount }`);
      await expectFewRows(await statementsOf(query), FEW_ROWS);
    },
  );
});

it.each(['/pets/9', '/store/orders?limit=1000', '/store/orders?after=98000'])(
  'a REST request reads few rows: %s',
  async (path) => {
    const sent = await sentFor(path, () => gateway.rest(path).then((response) => response.text()));
    await expectFewRows(sent, 1002);
  },
);

describe.each([
  ['', ''],
  [
    ' if PostgreSQL has no statistics about the change log',
    "delete from pg_statistic where starelid = 'changes'::regclass",
  ],
])('the query changes%s', (_how, before) => {
  beforeAll(async () => {
    if (before) await client.query(before);
  });

  it.each(['', 'filter: { types: [CATEGORY] }', 'filter: { types: [ORDER] }'])(
    'reads few rows: changes(%s)',
    async (filter) => {
      for (const page of BOTH_ENDS) {
        const query = `{ changes(${filter}, ${page}) { nodes { __typename } } }`;
        await expectFewRows(await statementsOf(query), 100);
      }
    },
  );

  it('reads few changes of other types to count those of a rare type', async () => {
    const query = '{ changes(first: 0, filter: { types: [CATEGORY] }) { totalCount } }';
    await expectFewRows(await statementsOf(query), 100);
  });
});

it.each([
  ['category(id: "9") { name }', 1],
  ['pet(id: "9") { name category { name } inventory { quantity } }', 3],
  ['inventoryItem(petId: "9") { quantity status pet { name } }', 3],
  ['order(id: "9") { quantity pet { name } }', 2],
  ['inventory(filter: { status: [PENDING] }) { totalCount }', 400],
  ['inventory(filter: { categoryId: "77" }) { totalCount }', 400],
  ['inventory(filter: { categoryId: "77" }) { totalCount a: totalCount b: totalCount }', 400],
  ['orders(filter: { categoryIds: ["501"] }) { totalCount }', 400],
])('a query reads few rows: %s', async (fields, most) => {
  await expectFewRows(await statementsOf(`{ ${fields} }`), most + 1);
});

it('pages of the rows of parents after a cursor read the rows of no other parents', async () => {
  const { pets } = await gateway.data('{ pets(first: 100) { pageInfo { endCursor } } }');
  const after = `after: "${pets.pageInfo.endCursor}"`;
  const query = `{ categories(first: 20) { nodes { pets(first: 10, ${after}) { nodes { id } } } } }`;
  await expectFewRows(await statementsOf(query), 21 + 20 * 11 + 1);
});

it('PostgreSQL sorts only the groups of a list that are returned, and one more', async () => {
  const statements = await statementsOf('{ orders { groups(by: PET_ID) { nodes { petId } } } }');
  const plans: Plan[] = [];
  for (const statement of statements) plans.push(...(await explain(statement)));
  expect(Math.max(...plans.map(({ numbered }) => numbered))).toBe(101);
});

it.each([
  'updateCategory(id: "9", input: { name: "Cats" })',
  'updatePet(id: "9", input: { name: "Cleo" })',
  'updateInventory(petId: "9", input: { quantity: 5 }, expectedQuantity: 1271)',
  'placeOrder(input: { petId: "9", quantity: 1 })',
  'rescheduleOrder(id: "99999", shipDate: null)',
  'completeOrder(id: "99998")',
  'cancelOrder(id: "99997")',
  'deletePet(id: "99996")',
  'deleteCategory(id: "19999")',
])('a write reads few rows: %s', async (mutation) => {
  const sent = await sentFor(mutation, () =>
    gateway.data(`mutation { ${mutation} { __typename } }`),
  );
  await expectFewRows(sent, 10);
});

describe('a list of pets in stock, when few pets are in stock,', () => {
  const FEW = 100;
  beforeAll(async () => {
    await client.query(`update inventory_items set quantity = 0 where pet_id <= ${ROWS - FEW}`);
    await client.query('vacuum (analyze) inventory_items');
  });

  it.each([
    'orderBy: { field: ID }, first: 20) { nodes { id } }',
    'orderBy: { field: ID }, last: 20) { nodes { id } }',
    'orderBy: { field: NAME }, first: 20) { nodes { id } }',
    'orderBy: { field: NAME }, last: 20) { nodes { id } }',
    ') { totalCount }',
  ])('reads few rows: pets(filter: { inStock: true }, %s', async (rest) => {
    const statements = await statementsOf(`{ pets(filter: { inStock: true }, ${rest} }`);
    await expectFewRows(statements, 3 * FEW);
  });
});
