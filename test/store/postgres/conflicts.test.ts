import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openPostgres } from '../../../src/database/postgres.ts';
import { openCopy } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { makePet, stockOf } from '../../support/make.ts';
import { countLockWaits, runSql } from '../../support/postgres.ts';

let gateway: Gateway;
let url = '';
beforeAll(async () => {
  gateway = await startGateway({}, async (config, log) => {
    const db = await openCopy(config, log);
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

describe('a deadlock', () => {
  it.each([
    ['a statement', undefined],
    ['a transaction', 'a key'],
  ])('that %s loses is tried again, never shown', async (_what, key) => {
    const petId = await makePet(gateway, { stock: 5 });
    const other = new Client({ connectionString: url });
    await other.connect();
    // The gateway holds the pet and waits for the stock; then this waits for the pet.
    await other.query(`begin; select from inventory_items where pet_id = ${petId} for update`);
    const placed = placeOrder(petId, key);
    await expect.poll(() => countLockWaits(url), { timeout: 20_000 }).not.toBe(0);
    await other.query(`update pets set name = 'Held' where id = ${petId}`);
    await other.query('commit');
    await other.end();
    expect(await placed).toEqual({ __typename: 'Order' });
    expect(await stockOf(gateway, petId)).toBe(4);
  });
});

describe('a database whose transactions are serializable', () => {
  it('sells each unit once, its refusals tried again', async () => {
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
