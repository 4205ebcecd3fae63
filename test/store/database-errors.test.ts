import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';

import { Prisma } from '../../src/database/generated/prisma/client.ts';
import type { Session } from '../../src/database/session.ts';
import { describeOnBothDatabases } from '../support/databases.ts';
import { type Gateway, type GraphqlAnswer, startGateway } from '../support/gateway.ts';
import { makeCategory, makePet } from '../support/make.ts';
import { post } from '../support/post.ts';
import { repeat } from '../support/repeat.ts';
import { rounds } from '../support/rounds.ts';

let gateway: Gateway;

const run = (sql: string): Promise<unknown> => gateway.db.prisma.$executeRawUnsafe(sql);

const count = async (table: string): Promise<number> => {
  const [row] = await gateway.db.query<{ count: number }>(
    Prisma.raw(`select count(*)::int as count from ${table}`),
  );
  return row?.count ?? Number.NaN;
};

/** Makes each COMMIT fail after a write to a table, until the returned function is called. */
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

/** Sends a mutation. */
const mutate = (mutation: string): Promise<GraphqlAnswer> =>
  gateway.graphql(`mutation { ${mutation} { ... on Error { code } } }`);

const codeOf = ({ data, errors }: GraphqlAnswer): unknown =>
  errors?.[0]?.extensions.code ?? Object.values<{ code?: string }>(data)[0]?.code;

const createOpen = ({ write }: Session): Promise<unknown> =>
  write(Prisma.sql`insert into categories (name) values ('Open')`);

// SQLSTATEs and what callers get: all in `npm run test:long`, and otherwise a third of them.
const STATES = [
  ['25006', 'a read-only database', 'SERVICE_UNAVAILABLE'],
  ['25P03', 'a transaction that was idle too long', 'SERVICE_UNAVAILABLE'],
  ['25P04', 'a transaction that took too long', 'SERVICE_UNAVAILABLE'],
  ['28000', 'a role that may not log in', 'SERVICE_UNAVAILABLE'],
  ['3D000', 'a database that does not exist', 'SERVICE_UNAVAILABLE'],
  ['40001', 'a serialization failure, in each retry', 'SERVICE_UNAVAILABLE'],
  ['40P01', 'a deadlock, in each retry', 'SERVICE_UNAVAILABLE'],
  ['53100', 'a full disk', 'SERVICE_UNAVAILABLE'],
  ['53200', 'no memory', 'SERVICE_UNAVAILABLE'],
  ['53300', 'too many connections', 'SERVICE_UNAVAILABLE'],
  ['53400', 'a limit of the server', 'SERVICE_UNAVAILABLE'],
  ['55P03', 'a lock that is not available', 'SERVICE_UNAVAILABLE'],
  ['57014', 'a cancelled statement', 'SERVICE_UNAVAILABLE'],
  ['57P01', 'a server that shuts down', 'SERVICE_UNAVAILABLE'],
  ['57P05', 'a session that was idle too long', 'SERVICE_UNAVAILABLE'],
  ['58030', 'an error of the disk', 'SERVICE_UNAVAILABLE'],
  ['58P01', 'a missing file', 'SERVICE_UNAVAILABLE'],
  ['XX001', 'damaged data', 'SERVICE_UNAVAILABLE'],
  ['XX002', 'a damaged index', 'SERVICE_UNAVAILABLE'],
  ['42703', 'a column that does not exist', 'INTERNAL_SERVER_ERROR'],
  ['42501', 'a missing privilege', 'INTERNAL_SERVER_ERROR'],
  ['XX000', 'an internal error of the database', 'INTERNAL_SERVER_ERROR'],
  ['P0001', 'an exception in a trigger', 'INTERNAL_SERVER_ERROR'],
].filter((_state, index) => index % rounds(3, 1) === 0);

const INSIDE = /prisma|select |postgres|pglite|node_modules|\.ts:|\.js:|at Object|RangeError/i;

describeOnBothDatabases(() => {
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterEach(() => {
    gateway.loggedErrors.length = 0;
  });
  afterAll(() => gateway.close());

  describe('a violated foreign key', () => {
    let categoryId: string;
    let petId: string;
    beforeAll(async () => {
      categoryId = await makeCategory(gateway);
      petId = await makePet(gateway, { stock: 1 });
    });

    it('names the row that does not exist', async () => {
      const codes = [
        await mutate('createPet(input: { name: "Rex", categoryId: "999999" })'),
        await mutate('createPet(input: { name: "Rex", categoryId: "999999", quantity: 1 })'),
        await mutate(`updatePet(id: "${petId}", input: { categoryId: "999999" })`),
        await mutate('updateInventory(petId: "999999", input: { quantity: 1 })'),
      ].map(codeOf);
      expect(codes).toEqual([
        'CATEGORY_NOT_FOUND',
        'CATEGORY_NOT_FOUND',
        'CATEGORY_NOT_FOUND',
        'PET_NOT_FOUND',
      ]);
    });

    it.each(['pets', 'inventory_items'])(
      'never names the row of another foreign key of %s',
      async (table) => {
        await run(`alter table ${table} add other_id bigint references categories`);
        await run(`create function refer() returns trigger language plpgsql as
          $$ begin new.other_id := 999999; return new; end $$`);
        await run(`create trigger refer before insert or update on ${table}
          for each row execute function refer()`);
        const codes = [
          await mutate(
            `createPet(input: { name: "Rex", categoryId: "${categoryId}", quantity: 1 })`,
          ),
          ...(table === 'pets'
            ? [await mutate(`updatePet(id: "${petId}", input: { categoryId: "${categoryId}" })`)]
            : [await mutate(`updateInventory(petId: "${petId}", input: { quantity: 2 })`)]),
        ].map(codeOf);
        await run('drop function refer cascade');
        await run(`alter table ${table} drop column other_id`);
        expect(codes).toEqual(['INTERNAL_SERVER_ERROR', 'INTERNAL_SERVER_ERROR']);
      },
    );

    it('of any table shows that a deleted row is in use', async () => {
      const free = await makePet(gateway);
      await run('create table owners (pet_id bigint references pets)');
      await run(`insert into owners values (${free})`);
      const code = codeOf(await mutate(`deletePet(id: "${free}")`));
      await run('drop table owners');
      expect(code).toBe('PET_IN_USE');
    });
  });

  describe('a write whose COMMIT fails', () => {
    beforeAll(async () => {
      await run(`create function reject_commit() returns trigger language plpgsql as
      $$ begin raise exception 'not committed'; end $$`);
    });

    it.each(
      Object.entries(WRITES).flatMap(([mutation, [table, type]]) =>
        [undefined, 'key'].map((key) => ({ mutation, table, type, key })),
      ),
    )('returns an error, changes nothing and can be retried: $mutation, $key', async (write) => {
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
    it('fails if one of its statements failed, even if the error was caught', async () => {
      const before = await count('categories');
      const work = gateway.db.transaction(async ({ query }) => {
        await query(Prisma.sql`insert into categories (name) values ('Undone')`);
        await query(Prisma.sql`select 1 / 0`).catch(() => {});
      });
      await expect(work).rejects.toThrow(/aborted|rolled back/);
      expect(await count('categories')).toBe(before);
    });
  });

  describe('a write that the database rejects', () => {
    let petId: string;
    let categoryId: string;
    beforeAll(async () => {
      categoryId = await makeCategory(gateway);
      petId = await makePet(gateway, { categoryId, stock: 1000 });
      // Writes fail with the SQLSTATE that is the comment of a table.
      await run(`create function fail() returns trigger language plpgsql as $$
      declare state text := obj_description('categories'::regclass);
      begin
        if state is not null then raise exception 'fails on purpose' using errcode = state; end if;
        return coalesce(new, old);
      end $$`);
      for (const table of ['categories', 'pets', 'inventory_items', 'orders']) {
        await run(`create trigger fail before insert or update or delete on ${table}
        for each row execute function fail()`);
      }
    });
    afterAll(() => run('comment on table categories is null'));

    /** Writes in each way that the gateway has: by Prisma's API and by SQL, in transactions and not. */
    async function write(): Promise<unknown[]> {
      const key = `idempotencyKey: "a key"`;
      const answers = await Promise.all(
        [
          'createCategory(input: { name: "Owls" }) { __typename }',
          `createCategory(input: { name: "Owls" }, ${key}) { __typename }`,
          `updatePet(id: "${petId}", input: { name: "Ida" }) { __typename }`,
          `deleteCategory(id: "${categoryId}") { __typename }`,
          `updateInventory(petId: "${petId}", input: { quantity: 9 }) { __typename }`,
          `placeOrder(input: { petId: "${petId}", quantity: 1 }) { __typename }`,
          `placeOrder(input: { petId: "${petId}", quantity: 1 }, ${key}) { __typename }`,
        ].map((field) => gateway.graphql(`mutation { ${field} }`)),
      );
      return answers.map(({ data, errors }) => errors?.[0]?.extensions.code ?? data);
    }

    it.each(STATES)('with SQLSTATE %s, %s, returns %s', async (state, _what, code) => {
      await run(`comment on table categories is '${state}'`);
      // Retries wait for a random time.
      const random = vi.spyOn(Math, 'random').mockReturnValue(0);
      const codes = await write();
      random.mockRestore();
      expect(codes).toEqual(Array.from({ length: 7 }, () => code));
    });
  });

  describe('an unexpected error', () => {
    let broken: Gateway;
    const ORDERS = '{ __typename orders { totalCount } }';
    beforeAll(async () => {
      broken = await startGateway();
      await makePet(broken);
      await broken.db.prisma.$executeRawUnsafe('drop table orders');
    });
    afterEach(() => void broken.loggedErrors.splice(0));
    afterAll(() => broken.close());

    const expectCauseInLog = (): void => {
      expect(broken.loggedErrors).toHaveLength(1);
      const [entry] = broken.loggedErrors as { err: Error }[];
      expect(entry?.err).toBeInstanceOf(Error);
      expect(entry?.err.message).toMatch(/orders/);
    };

    it('is INTERNAL_SERVER_ERROR in GraphQL, with its cause in the log only', async () => {
      const answer = await broken.graphql(ORDERS);
      const [error] = answer.errors ?? [];
      expect(error?.extensions).toEqual({ code: 'INTERNAL_SERVER_ERROR', status: 500 });
      expect(error?.path).toEqual(['orders']);
      expect(JSON.stringify(answer)).not.toMatch(INSIDE);
      expectCauseInLog();
    });

    it('is INTERNAL_SERVER_ERROR in a mutation, and no member of its result union', async () => {
      const answer = await broken.graphql(
        'mutation { cancelOrder(id: "1") { __typename ... on Error { code } } }',
      );
      expect(answer.errors?.[0]?.extensions.code).toBe('INTERNAL_SERVER_ERROR');
      expect(JSON.stringify(answer)).not.toMatch(INSIDE);
      expectCauseInLog();
    });

    it('is the error object in REST, with its cause in the log only', async () => {
      const response = await broken.rest('/store/orders');
      expect(response.status).toBe(500);
      const text = await response.text();
      expect(JSON.parse(text)).toEqual({
        code: 'INTERNAL_SERVER_ERROR',
        status: 500,
        message: expect.stringMatching(/./),
      });
      expect(text).not.toMatch(INSIDE);
      expectCauseInLog();
    });

    it('in many fields is logged once, with their number, and returned a hundred times', async () => {
      await broken.db.prisma.$executeRawUnsafe('drop table if exists inventory_items');
      const categoryId = await makeCategory(broken);
      await broken.db.prisma.$executeRaw`insert into pets (name, category_id)
      select 'Luna', ${BigInt(categoryId)} from generate_series(1, 4)`;
      const aliases = repeat(99, (index) => `a${index}: inventory { quantity }`);
      const query = `{ pets(last: 4) { nodes { ${aliases} } } }`;
      for (let time = 1; time <= 3; time += 1) {
        const response = await post(broken, { query });
        const { data, errors, extensions } = (await response.json()) as GraphqlAnswer;
        expect(data.pets.nodes).toHaveLength(4);
        expect(errors).toHaveLength(100);
        expect(errors?.every((error) => error.extensions.status === 500)).toBe(true);
        expect(extensions).toEqual({ omittedErrors: 4 * 99 - 100 });
        expect(broken.loggedErrors.splice(0)).toMatchObject([
          { path: ['pets', 'nodes', 0, 'a0'], fields: 4 * 99 },
        ]);
      }
    });

    it('does not affect other requests', async () => {
      const categoryId = await makeCategory(broken);
      const { category } = await broken.data('query ($id: ID!) { category(id: $id) { id } }', {
        id: categoryId,
      });
      expect(category.id).toBe(categoryId);
      expect((await broken.rest('/ready')).status).toBe(200);
      expect(broken.loggedErrors).toEqual([]);
    });
  });
});
