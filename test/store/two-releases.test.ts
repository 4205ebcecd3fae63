import { raw } from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';

import { cancelOrder } from '../../src/store/order/orders.ts';
import { useGateway, gateway } from '../support/gateway.ts';
import { type EventStream, openEvents } from '../support/live.ts';
import { makeCategory, makeOrder, makePet } from '../support/make.ts';
import { readMetrics, sumOf } from '../support/metrics.ts';
import { lastCursor, untilSettled } from '../support/settled.ts';

const WAIT = { timeout: 30_000, interval: 10 };

const run = (sql: string): Promise<unknown> => gateway.db.query(raw(sql));

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

const subscribe = (field: string, after?: string): Promise<EventStream> => {
  const query = `subscription ${after === undefined ? '' : '($after: String)'} { changed: ${field} }`;
  return openEvents(gateway, query, { variables: { after } });
};
const countUnknown = async (): Promise<number> =>
  sumOf(await readMetrics(gateway), 'unknown_changes_total');

const changed = async (stream: EventStream) => (await stream.data()).changed;

const PAGE = `query ($first: Int, $after: String, $last: Int, $filter: ChangeFilter) {
  changes(first: $first, after: $after, last: $last, filter: $filter) {
    totalCount pageInfo { hasNextPage hasPreviousPage endCursor }
    nodes { __typename kind cursor ... on CategoryChange { after { name } } } } }`;
const page = async (variables: Record<string, unknown>) =>
  (await gateway.data(PAGE, variables)).changes;

type Named = { after?: { name: string } };
const namesOf = ({ nodes }: { nodes: Named[] }): unknown[] => nodes.map(({ after }) => after?.name);

useGateway();
describe('on the database of a later release', () => {
  let start: string;
  beforeAll(async () => {
    for (const sql of LATER_RELEASE) await run(sql);
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
    const stream = await subscribe('categoryChanged(after: $after) { kind after { name } }', start);
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
    await expect.poll(countUnknown, WAIT).toBe(before + 2);
    await run('delete from keepers where id = 4');
  });

  it('a change to an unknown column is delivered, with the known columns of the row', async () => {
    const stream = await subscribe('petChanged { kind before { name } after { name } }');
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

describe('a row recorded before a column existed', () => {
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
  ])("is returned with the column's default: %s", async (type, row, field, after) => {
    const stream = await subscribe(field);
    await run(`insert into changes (type, row_id, kind, after)
        values ('${type}', 1, 'created', '${row}')`);
    expect(await changed(stream)).toEqual({ after });
  });
});

describe('the stored result of an idempotency key', () => {
  const ORDER = 'id quantity shipDate complete';
  const cases: [mutation: string, fields: string, stored: string[]][] = [
    [
      'createCategory(input: { name: "Cats" }',
      '... on Category { id description }',
      ['description'],
    ],
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
  ];

  it.each(cases)(
    'has the default of a column that another release did not store: %s',
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

  it('of cancelOrder has null for a column of the inventory item that another release did not store', async () => {
    const petId = await makePet(gateway, { stock: 10 });
    const args = { id: await makeOrder(gateway, petId), idempotencyKey: 'K' };
    await cancelOrder(gateway.db, args, undefined);
    await run(`update idempotency_keys set result = result #- '{json,inventory,quantity}'`);
    expect(await cancelOrder(gateway.db, args, undefined)).toEqual({
      id: BigInt(args.id),
      inventory: { petId: BigInt(petId), quantity: null },
    });
    await run(`delete from idempotency_keys where key = 'K'`);
  });
});
