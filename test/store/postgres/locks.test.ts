import type { Client } from 'pg';
import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it, vi } from 'vitest';

import { openCopyOnPostgres } from '../../support/databases.ts';
import {
  countShared,
  type Gateway,
  gateway,
  openAt,
  startGateway,
  startOther,
  useGateway,
} from '../../support/gateway.ts';
import { deleteChanges, deleteKeys } from '../../support/maintenance.ts';
import { makePet, mutate, stockOf } from '../../support/make.ts';
import { begin as beginOn, holdLock, runSql } from '../../support/postgres.ts';
import { untilSettled } from '../../support/settled.ts';

// Longer than any test, so that no statement times out.
useGateway({ STATEMENT_TIMEOUT_MS: '600000' }, openCopyOnPostgres);
let url = '';
beforeAll(() => {
  url = gateway.databaseUrl;
});

const placeOrder = (petId: string, idempotencyKey?: string) =>
  mutate(gateway, 'placeOrder', { input: { petId, quantity: 1 }, idempotencyKey });

const begin = (text: string): Promise<Client> =>
  // PostgreSQL aborts the first session that detects a deadlock; the gateway's sessions check after a second.
  beginOn(url, `set local deadlock_timeout = '1min'; ${text}`);

/** Returns how many sessions wait for a lock that the client's session holds. */
async function countBlockedBy(client: Client): Promise<number | null> {
  const { rowCount } = await client.query(
    `select pid from (select distinct pid from pg_locks where not granted) as waiting
     where pg_backend_pid() = any (pg_blocking_pids(pid))`,
  );
  return rowCount;
}

/** Commits a transaction, after another statement, once it blocks a session. */
async function commitOnceBlocking(client: Client, text = ''): Promise<void> {
  const isBlocking = async (): Promise<boolean> => (await countBlockedBy(client)) === 1;
  await vi.waitUntil(isBlocking, { timeout: 20_000, interval: 2 });
  await client.query(`${text}; commit`);
  await client.end();
}

it.concurrent.for([
  ['a statement', undefined],
  ['a transaction', 'a key'],
])(
  'a deadlock causes a retry instead of an error if it aborts %s',
  async ([, key], { expect: expected }) => {
    const petId = await makePet(gateway, { stock: 5 });
    const other = await begin(`select from inventory_items where pet_id = ${petId} for update`);
    const placed = placeOrder(petId, key);
    // The gateway has locked the pet and waits for the stock; then this session waits for the pet.
    await commitOnceBlocking(other, `update pets set name = 'Held' where id = ${petId}`);
    expected(await placed).toEqual({ __typename: 'Order' });
    expected(await stockOf(gateway, petId)).toBe(4);
  },
);

it('reads find a connection while twenty writes wait for a lock', async () => {
  const petId = await makePet(gateway, { stock: 5 });
  const other = await begin(`select from inventory_items where pet_id = ${petId} for update`);
  const placed = Array.from({ length: 20 }, (_, n) => placeOrder(petId, `write ${n}`));
  // POOL_SIZE is 10.
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
  await expect.poll(() => runSql(url, waiting)).toHaveLength(8);
  expect(await stockOf(gateway, petId)).toBe(5);
  await other.query('commit');
  await other.end();
  const types = (await Promise.all(placed)).map(({ __typename }) => __typename);
  expect(types.filter((type) => type === 'Order')).toHaveLength(5);
});

it('old changes are deleted in order while another gateway deletes the same ones', async () => {
  await runSql(url, `insert into categories (name) select 'old' from generate_series(1, 1500)`);
  await untilSettled(gateway.db);
  const first = 'select transaction, id from changes order by transaction, id limit 250';
  const other = await begin(`delete from changes where (transaction, id) in (${first})`);
  const deleted = deleteChanges(gateway);
  await commitOnceBlocking(other);
  await deleted;
  // The last change is kept.
  expect(await runSql(url, 'select from changes')).toHaveLength(1);
});

it('an update of several stocks succeeds even if its missing rows are created one after another meanwhile', async () => {
  const pets = await Promise.all(Array.from({ length: 5 }, () => makePet(gateway, {})));
  const ids = pets.toSorted((a, b) => Number(a) - Number(b));
  const others: Client[] = [];
  for (const id of ids) others.push(await begin(`insert into inventory_items values (${id}, 1)`));
  const updated = mutate(gateway, 'updateInventories', {
    input: ids.map((petId) => ({ petId, quantity: 7 })),
  });
  for (const other of others) await commitOnceBlocking(other);
  expect(await updated).toEqual({ __typename: 'UpdatedInventories' });
  expect(await Promise.all(ids.map((id) => stockOf(gateway, id)))).toEqual(ids.map(() => 7));
});

const TAKE = 'update inventory_items set quantity = 2 where pet_id = P';
const SELL = `update pets set status = 'sold' where id = P`;
const DELETE = 'delete from pets where id = P';

// Each mutation, what another transaction does to the pet, which has 5 units, the result, and the stock afterwards.
it.concurrent.for([
  ['placeOrder(input: { petId: P, quantity: 1 })', TAKE, 'Order', 1],
  ['placeOrder(input: { petId: P, quantity: 3 })', TAKE, 'InsufficientStock', 2],
  ['placeOrder(input: { petId: P, quantity: 1 })', SELL, 'PetNotAvailable', 5],
  ['placeOrders(input: [{ petId: P, quantity: 1 }])', TAKE, 'PlacedOrders', 1],
  ['placeOrders(input: [{ petId: P, quantity: 3 }])', TAKE, 'InsufficientStock', 2],
  ['placeOrders(input: [{ petId: P, quantity: 1 }])', SELL, 'PetNotAvailable', 5],
  ['adjustInventory(petId: P, by: 1)', TAKE, 'InventoryItem', 3],
  ['adjustInventory(petId: P, by: -1)', TAKE, 'InventoryItem', 1],
  ['adjustInventory(petId: P, by: -3)', TAKE, 'InsufficientStock', 2],
  [
    'updateInventory(petId: P, input: { quantity: 9 }, expectedQuantity: 5)',
    TAKE,
    'StaleInventory',
    2,
  ],
  ['updateInventory(petId: P, input: { quantity: 1 })', DELETE, 'PetNotFound', undefined],
] as const)(
  'a write waits for a concurrent change to its pet or the stock, and starts from the resulting stock: %s, %s',
  async ([mutation, change, type, left], { expect: expected }) => {
    const petId = await makePet(gateway, { stock: 5 });
    const other = await begin(change.replace('P', petId));
    const changed = gateway.data(
      `mutation { changed: ${mutation.replace('P', petId)} { __typename } }`,
    );
    await commitOnceBlocking(other);
    expected(await changed).toEqual({ changed: { __typename: type } });
    const rows = await runSql(url, `select quantity from inventory_items where pet_id = ${petId}`);
    expected(rows[0]?.['quantity']).toBe(left);
  },
);

/** Creates a trigger, as an operator might, that runs a statement for each order of 7 units. */
const createTrigger = (statement: string): Promise<unknown> =>
  runSql(
    url,
    `create or replace function hinder() returns trigger language plpgsql as
      $$ begin ${statement}; return new; end $$;
    create or replace trigger hinder before insert on orders for each row
      when (new.quantity = 7) execute function hinder()`,
  );

async function placeAt(at: Gateway, petId: string, quantity: number) {
  const { data, errors } = await at.graphql(
    `mutation ($input: NewOrder!) {
      placeOrder(input: $input) { ... on Order { petId quantity } ... on Error { code } } }`,
    { input: { petId, quantity } },
  );
  return errors?.[0]?.extensions.code ?? data.placeOrder.code ?? data.placeOrder;
}

describe('orders that arrive at the same time', () => {
  it.each([
    ['the pet', 'pets', 'id'],
    ['the stock', 'inventory_items', 'pet_id'],
  ])('do not wait for another order that waits for a lock on %s', async (_what, table, id) => {
    const locked = await makePet(gateway, { stock: 5 });
    const others = await Promise.all(
      Array.from({ length: 4 }, () => makePet(gateway, { stock: 5 })),
    );
    const petIds = [...others, locked, ...others];
    // On new connections, the requests would arrive one at a time.
    await Promise.all(petIds.map((petId) => placeOrder(petId)));
    gateway.statements.length = 0;
    const unlock = await holdLock(url, `select from ${table} where ${id} = ${locked} for update`);
    let isDone = false;
    const responses = petIds.map((petId) => placeOrder(petId));
    const waiting = responses[others.length]?.finally(() => {
      isDone = true;
    });
    const placed = await Promise.all(
      responses.filter((_response, index) => petIds[index] !== locked),
    );
    expect(placed).toEqual(placed.map(() => ({ __typename: 'Order' })));
    expect(countShared()).toBeGreaterThan(0);
    expect(isDone).toBe(false);
    await unlock();
    expect(await waiting).toEqual({ __typename: 'Order' });
  });

  it.each([
    ['is rejected by a trigger', `raise exception 'Not on Mondays.'`, 'INTERNAL_SERVER_ERROR'],
    ['fails with an unknown SQLSTATE', `raise sqlstate '45000'`, 'INTERNAL_SERVER_ERROR'],
    ['is skipped by a trigger', 'return null', 'INSUFFICIENT_STOCK'],
    ['waits for a lock', 'perform pg_advisory_xact_lock(7)', undefined],
  ])('are placed even if another order %s', async (_what, statement, expected) => {
    await createTrigger(statement);
    // After a failure, a gateway shares no statements for some time.
    const fresh = await startOther({});
    const petIds = await Promise.all(Array.from({ length: 5 }, () => makePet(fresh, { stock: 9 })));
    const placeAll = (quantity: number) =>
      petIds.map((petId, index) => placeAt(fresh, petId, index === 1 ? quantity : 1));
    // On new connections, the requests would arrive one at a time.
    await Promise.all(placeAll(1));
    gateway.statements.length = 0;
    const unlock = await holdLock(url, 'select pg_advisory_xact_lock(7)');
    const responses = placeAll(7);
    const others = await Promise.all(responses.toSpliced(1, 1));
    expect(others).toEqual(petIds.toSpliced(1, 1).map((petId) => ({ petId, quantity: 1 })));
    expect(countShared()).toBeGreaterThan(0);
    await unlock();
    expect(await responses[1]).toEqual(expected ?? { petId: petIds[1], quantity: 7 });
    const isLogged = expected === 'INTERNAL_SERVER_ERROR';
    expect(fresh.loggedErrors.splice(0)).toHaveLength(isLogged ? 1 : 0);
    await runSql(url, 'drop function hinder cascade');
  });
});

it('a gateway whose clock is a day ahead deletes no change and no idempotency key early', async () => {
  await runSql(
    url,
    `insert into categories (name) values ('young');
     insert into idempotency_keys (key, request_hash) values ('young', '')`,
  );
  const young = () =>
    runSql(
      url,
      `select key from idempotency_keys where key = 'young'
       union all select after->>'name' from settled_changes where after->>'name' = 'young'`,
    );
  await expect.poll(young).toHaveLength(2);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 });
  await Promise.all([deleteChanges(gateway, 3_600_000), deleteKeys(gateway, 3_600_000)]);
  vi.useRealTimers();
  expect(await young()).toHaveLength(2);
});

it('deleting old idempotency keys does not wait for a key that another transaction has locked', async () => {
  const { db } = gateway;
  await db.write(sql`
    insert into idempotency_keys (key, request_hash, created_at)
    select 'old ' || number, '', now() - interval '1 day' from generate_series(1, 3) as number`);
  await db.transaction(async ({ query }) => {
    await query(sql`select 1 from idempotency_keys where key = 'old 2' for update`);
    await deleteKeys(gateway, 60_000);
  });
  const left = await runSql(url, "select key from idempotency_keys where key like 'old %'");
  expect(left).toEqual([{ key: 'old 2' }]);
});

it('a gateway on a database whose transactions are serializable by default sells each unit once, because serialization failures are retried', async () => {
  await runSql(
    url,
    `alter database ${new URL(url).pathname.slice(1)} set default_transaction_isolation = 'serializable'`,
  );
  const strict = await startGateway({}, openAt(url));
  const petId = await makePet(gateway, { stock: 20 });
  const responses = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const { data, errors } = await strict.graphql(
        `mutation { placeOrder(input: { petId: "${petId}", quantity: 1 }) {
          __typename ... on Error { code } } }`,
      );
      return errors?.[0]?.extensions.code ?? data.placeOrder.code ?? 'placed';
    }),
  );
  strict.loggedErrors.length = 0;
  await strict.close();
  const placed = responses.filter((response) => response === 'placed').length;
  expect(await stockOf(gateway, petId)).toBe(20 - placed);
  expect(new Set(responses)).toEqual(new Set(['placed', 'INSUFFICIENT_STOCK']));
  expect(placed).toBe(20);
});
