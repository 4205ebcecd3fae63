import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import type { Session } from '../../src/database/database.ts';
import { Prisma } from '../../src/database/generated/prisma/client.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { makeCategory, makePet } from '../support/make.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
  await run(`create function reject_commit() returns trigger language plpgsql as
    $$ begin raise exception 'not committed'; end $$`);
});
afterAll(() => gateway.close());

const run = (sql: string): Promise<unknown> => gateway.db.prisma.$executeRawUnsafe(sql);

/** Makes each COMMIT fail that wrote to a table, until the function returned is called. */
async function rejectCommits(table: string): Promise<() => Promise<void>> {
  await run(`create constraint trigger reject_commit after insert or update on ${table}
    deferrable initially deferred for each row execute function reject_commit()`);
  return async () => {
    await run(`drop trigger reject_commit on ${table}`);
  };
}

const WRITES = {
  createCategory: ['categories', 'Category'],
  createPet: ['pets', 'Pet'],
  placeOrder: ['orders', 'Order'],
} as const;

async function inputOf(mutation: keyof typeof WRITES): Promise<Record<string, unknown>> {
  if (mutation === 'createCategory') return { name: 'Newts' };
  if (mutation === 'createPet') return { name: 'Nora', categoryId: await makeCategory(gateway) };
  return { petId: await makePet(gateway, { stock: 5 }), quantity: 2 };
}

const count = async (table: string): Promise<number> => {
  const [row] = await gateway.db.query<{ count: number }>(
    Prisma.raw(`select count(*)::int as count from ${table}`),
  );
  return row?.count ?? Number.NaN;
};

const createOpen = ({ prisma }: Session): Promise<unknown> =>
  prisma.category.create({ data: { name: 'Open' } });

describe('a write whose COMMIT fails', () => {
  afterEach(() => {
    gateway.loggedErrors.length = 0;
  });

  it.each(
    Object.entries(WRITES).flatMap(([mutation, [table, type]]) =>
      [undefined, 'key'].map((key) => ({ mutation, table, type, key })),
    ),
  )('is no success, changes nothing and can be sent again: $mutation, $key', async (write) => {
    const { mutation, table, type, key } = write;
    const query = `mutation ($input: New${type}!, $key: String) {
      ${mutation}(input: $input, idempotencyKey: $key) { __typename 
        ... on ${type} { id } } }`;
    const input = await inputOf(mutation as keyof typeof WRITES);
    const before = await count(table);
    const allow = await rejectCommits(table);
    const variables = { input, key: key && `${key} ${mutation}` };
    const failed = await gateway.graphql(query, variables);
    await allow();
    expect(failed.errors?.[0]?.extensions.code).toBe('INTERNAL_SERVER_ERROR');
    expect(await count(table)).toBe(before);
    expect(await gateway.data(query, variables)).toEqual({
      [mutation]: { __typename: type, id: expect.any(String) },
    });
    expect(await count(table)).toBe(before + 1);
  });

  it('leaves no transaction open', async () => {
    const allow = await rejectCommits('categories');
    await expect(gateway.db.transaction(createOpen)).rejects.toThrow('not committed');
    await allow();
    await Promise.all(Array.from({ length: 20 }, () => gateway.db.transaction(createOpen)));
    const [state] = await gateway.db.query<{ alone: boolean }>(
      Prisma.sql`select pg_current_xact_id_if_assigned() is null as alone`,
    );
    expect(state).toEqual({ alone: true });
  });
});

describe('a transaction', () => {
  it('fails if a statement of it failed, even where that error was caught', async () => {
    const before = await count('categories');
    const work = gateway.db.transaction(async ({ prisma }) => {
      await prisma.category.create({ data: { name: 'Undone' } });
      await prisma.$executeRaw`select 1 / 0`.catch(() => {});
    });
    await expect(work).rejects.toThrow(/aborted|rolled back/);
    expect(await count('categories')).toBe(before);
  });
});
