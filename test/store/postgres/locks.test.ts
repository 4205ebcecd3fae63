import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Prisma } from '../../../src/database/generated/prisma/client.ts';
import { deleteOldKeys } from '../../../src/database/idempotency.ts';
import { openPostgres } from '../../../src/database/postgres.ts';
import { openCopyOnPostgres } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { makePet, stockOf } from '../../support/make.ts';
import { holdLock, runSql } from '../../support/postgres.ts';

let gateway: Gateway;
let url = '';
beforeAll(async () => {
  gateway = await startGateway({}, async (config, log) => {
    const db = await openCopyOnPostgres(config, log);
    url = db.url ?? '';
    return db;
  });
});
afterAll(() => gateway.close());

const placeOrder = async (petId: string, key?: string) =>
  (
    await gateway.data(
      `mutation ($petId: ID!, $key: String) {
        placeOrder(input: { petId: $petId, quantity: 1 }, idempotencyKey: $key) {
          __typename ... on Error { code } } }`,
      { petId, key },
    )
  ).placeOrder;

/** Finds the sessions that wait for a lock of this one. */
const BLOCKED = `select pid from (select distinct pid from pg_locks where not granted) as waiting
  where pg_backend_pid() = any (pg_blocking_pids(pid))`;

describe.concurrent('a deadlock', () => {
  it.for([
    ['a statement', undefined],
    ['a transaction', 'a key'],
  ])('that ends %s is retried and not returned', async ([, key], { expect: expected }) => {
    const petId = await makePet(gateway, { stock: 5 });
    const other = new Client({ connectionString: url });
    await other.connect();
    // PostgreSQL ends the first that finds the deadlock; the gateway looks after a second.
    await other.query("set deadlock_timeout = '1min'");
    await other.query(`begin; select from inventory_items where pet_id = ${petId} for update`);
    const placed = placeOrder(petId, key);
    const blocked = async (): Promise<number | null> => (await other.query(BLOCKED)).rowCount;
    await expected.poll(blocked, { interval: 2 }).toBe(1);
    // The gateway has locked the pet and waits for the stock; now this waits for the pet.
    await other.query(`update pets set name = 'Held' where id = ${petId}`);
    await other.query('commit');
    await other.end();
    expected(await placed).toEqual({ __typename: 'Order' });
    expected(await stockOf(gateway, petId)).toBe(4);
  });
});

describe.concurrent('a cart', () => {
  // The lines are in the opposite order.
  it.for(['pets', 'inventory_items'])(
    'locks rows of %s in the order of the ids of the pets',
    async (table, { expect: expected }) => {
      const low = await makePet(gateway, { stock: 5 });
      const high = await makePet(gateway, { stock: 5 });
      const id = table === 'pets' ? 'id' : 'pet_id';
      const other = new Client({ connectionString: url });
      await other.connect();
      await other.query(`begin; select from ${table} where ${id} = ${low} for update`);
      const placed = gateway.data(
        `mutation { placeOrders(input: [{ petId: "${high}", quantity: 1 }, { petId: "${low}", quantity: 1 }]) {
          ... on PlacedOrders { orders { petId } } } }`,
      );
      const blocked = async (): Promise<number | null> => (await other.query(BLOCKED)).rowCount;
      await expected.poll(blocked, { interval: 2 }).toBe(1);
      const free = `select from ${table} where ${id} = ${high} for update skip locked`;
      expected((await other.query(free)).rowCount).toBe(1);
      // It locks all pets before any stock.
      const pets = `select from pets where id in (${low}, ${high}) for update skip locked`;
      expected((await other.query(pets)).rowCount).toBe(table === 'pets' ? 2 : 0);
      await other.query('commit');
      await other.end();
      expected((await placed).placeOrders).toEqual({ orders: [{ petId: high }, { petId: low }] });
    },
  );
});

describe('orders that arrive at once', () => {
  it.each([
    ['the pet', 'pets', 'id'],
    ['the stock', 'inventory_items', 'pet_id'],
  ])('do not wait for one whose lock on %s is taken', async (_what, table, id) => {
    const locked = await makePet(gateway, { stock: 5 });
    const others = await Promise.all(
      Array.from({ length: 4 }, () => makePet(gateway, { stock: 5 })),
    );
    const petIds = [...others, locked, ...others];
    // On new connections, the requests would arrive one after the other.
    await Promise.all(petIds.map((petId) => placeOrder(petId)));
    gateway.statements.length = 0;
    const unlock = await holdLock(url, `select from ${table} where ${id} = ${locked} for update`);
    let isDone = false;
    const answers = petIds.map((petId) => placeOrder(petId));
    const waiting = answers[others.length]?.finally(() => {
      isDone = true;
    });
    const placed = await Promise.all(answers.filter((_answer, index) => petIds[index] !== locked));
    expect(placed).toEqual(placed.map(() => ({ __typename: 'Order' })));
    expect(gateway.statements.filter((sql) => sql.includes('skip locked'))).not.toEqual([]);
    expect(isDone).toBe(false);
    await unlock();
    expect(await waiting).toEqual({ __typename: 'Order' });
  });

  it('are placed if PostgreSQL rejects another one of them', async () => {
    await runSql(
      url,
      `create function reject() returns trigger language plpgsql as
        $$ begin raise exception 'Not on Mondays.'; end $$;
      create trigger reject before insert on orders for each row
        when (new.quantity = 7) execute function reject()`,
    );
    const petIds = await Promise.all(
      Array.from({ length: 4 }, () => makePet(gateway, { stock: 9 })),
    );
    const place = (petId: string, quantity: number) =>
      gateway.graphql('mutation ($input: NewOrder!) { placeOrder(input: $input) { __typename } }', {
        input: { petId, quantity },
      });
    const answers = await Promise.all(
      petIds.map((petId, index) => place(petId, index === 2 ? 7 : 1)),
    );
    expect(answers.map(({ errors }) => errors?.[0]?.extensions.code)).toEqual([
      undefined,
      undefined,
      'INTERNAL_SERVER_ERROR',
      undefined,
    ]);
    expect(await Promise.all(petIds.map((petId) => stockOf(gateway, petId)))).toEqual([8, 8, 9, 8]);
    expect(gateway.loggedErrors.splice(0)).toHaveLength(1);
    await runSql(url, 'drop function reject cascade');
  });
});

describe('removing old idempotency keys', () => {
  it('does not wait for a key that another transaction has locked', async () => {
    const { db } = gateway;
    await db.prisma.$executeRaw`
      insert into idempotency_keys (key, request_hash, created_at)
      select 'old ' || number, '', now() - interval '1 day' from generate_series(1, 3) as number`;
    await db.transaction(async ({ query }) => {
      await query(Prisma.sql`select 1 from idempotency_keys where key = 'old 2' for update`);
      await deleteOldKeys(db, 60_000);
    });
    const left = await runSql(url, "select key from idempotency_keys where key like 'old %'");
    expect(left).toEqual([{ key: 'old 2' }]);
  });
});

describe('a database whose transactions are serializable', () => {
  it('sells each unit once, as serialization failures are retried', async () => {
    await runSql(
      url,
      `alter database ${new URL(url).pathname.slice(1)} set default_transaction_isolation = 'serializable'`,
    );
    const strict = await startGateway({}, (config, log) => openPostgres(url, config, log));
    const petId = await makePet(gateway, { stock: 20 });
    const answers = await Promise.all(
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
    const placed = answers.filter((answer) => answer === 'placed').length;
    expect(await stockOf(gateway, petId)).toBe(20 - placed);
    expect(new Set(answers)).toEqual(new Set(['placed', 'INSUFFICIENT_STOCK']));
    expect(placed).toBe(20);
  });
});
