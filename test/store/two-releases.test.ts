import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';

import { type Data, gateway, run, useGateway } from '../support/gateway.ts';
import { changed, follow } from '../support/live.ts';
import { makeCategory, makePet } from '../support/make.ts';
import { readMetrics, sumOf } from '../support/metrics.ts';
import { lastCursor, untilSettled } from '../support/settled.ts';

// What a later release adds: a table with a trigger like those in the migrations, a column, and a kind of change.
const LATER_RELEASE = [
  'create table keepers (id bigint primary key, name text not null)',
  `create function record_keepers() returns trigger language plpgsql as $$
   begin
     insert into changes (type, row_id, kind, after)
     values ('Keeper', new.id, 'created', row_to_json(new));
     return null;
   end $$`,
  `create trigger record_change after insert on keepers
   for each row execute function record_keepers()`,
  'alter table pets add column age integer not null default 3',
  `alter type change_kind add value 'archived'`,
];

const insertKeeper = (id: number): Promise<unknown> =>
  run(`insert into keepers values (${id}, 'Paws')`);
const archive = (id: string): Promise<unknown> =>
  run(`insert into changes (type, row_id, kind, after)
       values ('Category', ${id}, 'archived', '{"id":${id},"name":"archived"}')`);

const countUnknown = async (): Promise<number> =>
  sumOf(await readMetrics(gateway), 'unknown_changes_total');

const PAGE = `query ($first: Int, $after: String, $last: Int, $filter: ChangeFilter) {
  changes(first: $first, after: $after, last: $last, filter: $filter) {
    totalCount pageInfo { hasNextPage hasPreviousPage endCursor }
    nodes { __typename kind cursor ... on CategoryChange { after { name } } } } }`;
const page = async (variables: Record<string, unknown>) =>
  (await gateway.data(PAGE, variables)).changes;

const namesOf = ({ nodes }: Data): unknown[] => nodes.map(({ after }: Data) => after?.name);

useGateway();
describe('on the database of a later release', () => {
  let start: string;
  beforeAll(async () => {
    for (const text of LATER_RELEASE) await run(text);
    await makeCategory(gateway, 'start');
    start = await lastCursor(gateway);
    const id = await makeCategory(gateway, 'a');
    await insertKeeper(1);
    await archive(id);
    await makeCategory(gateway, 'b');
    await insertKeeper(2);
    await makeCategory(gateway, 'c');
    await insertKeeper(3);
    await untilSettled(gateway.db);
  });

  it.each([{}, { filter: {} }, { filter: { types: ['PET', 'CATEGORY'] } }])(
    'pages of changes are full, although they omit changes of unknown types and kinds (arguments: %j)',
    async (variables) => {
      const first = await page({ first: 2, after: start, ...variables });
      expect(namesOf(first)).toEqual(['a', 'b']);
      expect(first.pageInfo.hasNextPage).toBe(true);
      const { endCursor } = first.pageInfo;
      const second = await page({ first: 2, after: endCursor, ...variables });
      expect(namesOf(second)).toEqual(['c']);
      expect(second.pageInfo.hasNextPage).toBe(false);
      const last = await page({ last: 4, ...variables });
      expect(namesOf(last)).toEqual(['start', 'a', 'b', 'c']);
      expect([last.totalCount, last.pageInfo.hasPreviousPage]).toEqual([4, false]);
    },
  );

  it('a subscription returns all changes of known types and kinds, first those stored after its cursor, then new ones', async () => {
    const stream = await follow(
      gateway,
      'categoryChanged(after: $after) { kind after { name } }',
      start,
    );
    const names = async (count: number): Promise<unknown[]> => {
      const found = [];
      while (found.length < count) found.push(await changed(stream));
      return found.map(({ kind, after: { name } }) => [kind, name]);
    };
    expect(await names(3)).toEqual(['a', 'b', 'c'].map((name) => ['CREATED', name]));
    const before = await countUnknown();
    await insertKeeper(4);
    await archive(await makeCategory(gateway, 'd'));
    await makeCategory(gateway, 'e');
    expect(await names(2)).toEqual(['d', 'e'].map((name) => ['CREATED', name]));
    await expect.poll(countUnknown).toBe(before + 2);
    await run('delete from keepers where id = 4');
  });

  it('a change to an unknown column is delivered, with the known columns of the row', async () => {
    const stream = await follow(gateway, 'petChanged { kind before { name } after { name } }');
    const id = await makePet(gateway, { name: 'Ida' });
    expect(await changed(stream)).toMatchObject({ kind: 'CREATED', after: { name: 'Ida' } });
    await run(`update pets set age = 4 where id = ${id}`);
    expect(await changed(stream)).toEqual({
      kind: 'UPDATED',
      before: { name: 'Ida' },
      after: { name: 'Ida' },
    });
  });
});

it.each([
  [
    'Pet',
    `{"id":1,"name":"Ida","category_id":1}`,
    'petChanged(filter: { status: [AVAILABLE] }) { after { name status } }',
    { name: 'Ida', status: 'AVAILABLE' },
  ],
  [
    'Order',
    `{"id":1,"pet_id":1,"quantity":2}`,
    'orderChanged(filter: { complete: false }) { after { quantity shipDate complete } }',
    { quantity: 2, shipDate: null, complete: false },
  ],
  [
    'Category',
    `{"id":1,"name":"Cats"}`,
    'categoryChanged { after { name description } }',
    { name: 'Cats', description: null },
  ],
])(
  "a row recorded before a column existed is returned with the column's default: %s",
  async (type, row, field, after) => {
    const stream = await follow(gateway, field);
    await run(`insert into changes (type, row_id, kind, after)
      values ('${type}', 1, 'created', '${row}')`);
    expect(await changed(stream)).toEqual({ after });
  },
);

const ORDER = 'id petId quantity shipDate complete';
it.each<[mutation: string, fields: string, stored: string[]]>([
  ['createCategory(input: { name: "Cats" }', '... on Category { id description }', ['description']],
  ['createPet(input: { name: "Ida", categoryId: "C" }', '... on Pet { id status }', ['status']],
  [
    'placeOrder(input: { petId: "P", quantity: 1 }',
    `... on Order { ${ORDER} }`,
    ['shipDate', 'complete'],
  ],
  [
    'placeOrders(input: [{ petId: "P", quantity: 1 }, { petId: "P", quantity: 2 }]',
    `... on PlacedOrders { orders { ${ORDER} } }`,
    ['0,shipDate', '0,complete', '1,complete'],
  ],
])(
  'the stored result of an idempotency key has the default of a column that another release did not store: %s',
  async (call, fields, stored) => {
    const petId = await makePet(gateway, { stock: 10 });
    const { pet } = await gateway.data(`{ pet(id: "${petId}") { category { id } } }`);
    const mutation = call.replaceAll('"P"', `"${petId}"`).replace('"C"', `"${pet.category.id}"`);
    const query = `mutation { made: ${mutation}, idempotencyKey: "K") { ${fields} ... on Error { code } } }`;
    const first = await gateway.data(query);
    expect(first.made).not.toHaveProperty('code');
    for (const path of stored) {
      await run(`update idempotency_keys set result = result #- '{json,${path}}'`);
    }
    expect(await gateway.data(query)).toEqual(first);
    await run(`delete from idempotency_keys where key = 'K'`);
  },
);

const TIME = '2100-01-01T10:00:00.000Z';
const order = (id: string, more: object = {}) => ({
  id,
  petId: '9007199254740993',
  quantity: 3,
  shipDate: TIME,
  complete: false,
  ...more,
});
const STOCK = { petId: '9007199254740993', quantity: 7 };

interface StoredKey {
  /** The mutation, for a pet, order or category with the id 9007199254740993. */
  call: string;
  fields: string;
  made: object;
  /** The digest of the input, and the result, as 4.0 stored them. */
  hash: string;
  json: unknown;
  values: object;
  more?: object;
}

const STORED_BY_4_0: StoredKey[] = [
  {
    call: `placeOrder(input: { petId: "9007199254740993", quantity: 3, shipDate: "${TIME}" }`,
    fields: `... on Order { ${ORDER} }`,
    made: order('9007199254740995'),
    hash: 'b57f6aadcadafd87164faf9317467c2138f4b2303a5c4781a24d310bef02294f',
    json: order('9007199254740995'),
    values: { id: ['bigint'], petId: ['bigint'], shipDate: ['Date'] },
  },
  {
    call: `placeOrders(input: [{ petId: "9007199254740993", quantity: 1, shipDate: "${TIME}" }, { petId: "1", quantity: 2 }]`,
    fields: `... on PlacedOrders { orders { ${ORDER} } }`,
    made: { orders: [order('5'), order('6'), order('7', { shipDate: null })] },
    hash: 'bef6f784209b6afef2db5060d6e62c706dbe3d1815a7d357ff82edde301ceee2',
    json: [order('5'), order('6'), order('7', { shipDate: null })],
    values: {
      '0.id': ['bigint'],
      '0.petId': ['bigint'],
      '0.shipDate': ['Date'],
      '1.id': ['bigint'],
      '1.petId': ['bigint'],
      '1.shipDate': ['Date'],
      '2.id': ['bigint'],
      '2.petId': ['bigint'],
    },
    more: { referentialEqualities: { '0.shipDate': ['1.shipDate'] } },
  },
  {
    call: 'cancelOrder(id: "9007199254740993"',
    fields: '... on CancelledOrder { id inventory { petId quantity } }',
    made: { id: '9007199254740993', inventory: STOCK },
    hash: 'edb870e7424e2055501afe3635e1781b13e6c006bf917a46ae9264fef2ec50c6',
    json: { id: '9007199254740993', inventory: STOCK },
    values: { id: ['bigint'], 'inventory.petId': ['bigint'] },
  },
];

it.each(STORED_BY_4_0)(
  'a key that 4.0 stored returns the original result, although there is no such row: $call)',
  async ({ call, fields, made, hash, json, values, more }) => {
    const result = JSON.stringify({ json, meta: { values, ...more, v: 1 } });
    await gateway.db.write(sql`insert into idempotency_keys (key, request_hash, result)
      values ('K', decode(${hash}, 'hex'), ${result}::jsonb)`);
    const query = `mutation { made: ${call}, idempotencyKey: "K") { ${fields} ... on Error { code } } }`;
    expect(await gateway.data(query)).toEqual({ made });
    await run(`delete from idempotency_keys where key = 'K'`);
  },
);

it('a key that is stored can be read by 4.0: its digest and result are those that 4.0 would have stored', async () => {
  await run(`insert into categories (id, name) values (9007199254740993, 'Big')`);
  await run(
    `insert into pets (id, name, category_id) values (9007199254740993, 'Ida', 9007199254740993)`,
  );
  await run(`insert into inventory_items (pet_id, quantity) values (9007199254740993, 10)`);
  const [{ call, fields, hash, values }] = STORED_BY_4_0 as [StoredKey];
  const query = `mutation { made: ${call}, idempotencyKey: "K") { ${fields} } }`;
  const { made } = await gateway.data(query);
  const [stored] = await gateway.db.query(sql`
    select encode(request_hash, 'hex') as hash, result from idempotency_keys where key = 'K'`);
  expect(stored).toEqual({ hash, result: { json: made, meta: { values, v: 1 } } });
  await run(`delete from idempotency_keys where key = 'K'`);
});
