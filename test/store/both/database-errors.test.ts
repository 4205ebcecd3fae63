import sql, { raw } from 'sql-template-tag';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';

import { isRolledBack, type Session } from '../../../src/gateway/index.ts';
import {
  describeOnGateways,
  type Gateway,
  gateway,
  type GraphqlResponse,
  run,
  startGateway,
} from '../../support/gateway.ts';
import { letASecondPass } from '../../support/logged.ts';
import { makeCategory, makePet } from '../../support/make.ts';
import { repeat } from '../../support/repeat.ts';

const count = async (table: string): Promise<number> => {
  const [row] = await gateway.db.query<{ count: number }>(
    raw(`select count(*)::int as count from ${table}`),
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

const WRITES = [
  ['createCategory(input: { name: "Newts" })', 'categories'],
  ['createCategory(input: { name: "Newts" }, idempotencyKey: "category")', 'categories'],
  ['placeOrder(input: { petId: "1", quantity: 2 })', 'orders'],
  ['placeOrder(input: { petId: "1", quantity: 2 }, idempotencyKey: "order")', 'orders'],
] as const;

const mutate = (mutation: string): Promise<GraphqlResponse> =>
  gateway.graphql(`mutation { ${mutation} { ... on Error { code } } }`);

const codeOf = ({ data, errors }: GraphqlResponse): unknown =>
  errors?.[0]?.extensions.code ?? Object.values<{ code?: string }>(data)[0]?.code;

const createOpen = ({ write }: Session): Promise<unknown> =>
  write(sql`insert into categories (name) values ('Open')`);

// One SQLSTATE for each kind of error.
const STATES = [
  ['25006', 'a read-only database', 'SERVICE_UNAVAILABLE'],
  ['25P03', 'a transaction that was idle too long', 'SERVICE_UNAVAILABLE'],
  ['28000', 'a role that is not allowed to log in', 'SERVICE_UNAVAILABLE'],
  ['3D000', 'a database that does not exist', 'SERVICE_UNAVAILABLE'],
  ['40P01', 'a deadlock in each retry', 'SERVICE_UNAVAILABLE'],
  ['53100', 'a full disk', 'SERVICE_UNAVAILABLE'],
  ['55P03', 'a lock that is not available', 'SERVICE_UNAVAILABLE'],
  ['57014', 'a cancelled statement', 'SERVICE_UNAVAILABLE'],
  ['58030', 'a disk error', 'SERVICE_UNAVAILABLE'],
  ['XX001', 'damaged data', 'SERVICE_UNAVAILABLE'],
  ['42703', 'a column that does not exist', 'INTERNAL_SERVER_ERROR'],
  ['XX000', 'an internal error of the database', 'INTERNAL_SERVER_ERROR'],
  ['P0001', 'an exception in a trigger', 'INTERNAL_SERVER_ERROR'],
];

const SENTENCE = "An unexpected error occurred. Its cause is in the gateway's log.";
/** The GraphQL error for an unexpected failure, without its path. */
const UNEXPECTED = {
  message: SENTENCE,
  locations: expect.any(Array) as unknown,
  extensions: { code: 'INTERNAL_SERVER_ERROR', status: 500 },
};

const lineOf = (table: string, omitted?: number): object => ({
  err: { message: expect.stringContaining(table) as unknown },
  omitted,
});

describe('an unexpected error', () => {
  let broken: Gateway;
  const ORDERS = '{ __typename orders { totalCount } }';
  beforeAll(async () => {
    broken = await startGateway();
    await makePet(broken);
    await broken.db.write(raw('drop table orders'));
  });
  beforeEach(letASecondPass);
  afterEach(() => void broken.loggedErrors.splice(0));
  afterAll(() => broken.close());

  const expectCauseInLog = (): void => {
    expect(broken.loggedErrors).toHaveLength(1);
    const [entry] = broken.loggedErrors as { err: Error }[];
    expect(entry?.err).toBeInstanceOf(Error);
    expect(entry?.err.message).toMatch(/orders/);
  };

  it.each([
    ['orders', ORDERS],
    ['cancelOrder', 'mutation { cancelOrder(id: "1") { __typename ... on Error { code } } }'],
  ])(
    'appears in the errors of the GraphQL response, with its cause only in the log: %s',
    async (field, query) => {
      const { errors } = await broken.graphql(query);
      expect(errors).toEqual([{ ...UNEXPECTED, path: [field] }]);
      expectCauseInLog();
    },
  );

  it('is logged once a second, whatever requests it fails, and its next line counts those left out', async () => {
    await broken.db.write(raw('drop table if exists inventory_items'));
    const sendAll = async (): Promise<unknown[]> => {
      await broken.graphql(ORDERS);
      await broken.graphql('mutation { cancelOrder(id: "1") { __typename } }');
      await broken.rest('/store/orders');
      await broken.graphql('{ inventory { totalCount } }');
      return broken.loggedErrors.splice(0);
    };
    vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    expect(await sendAll()).toMatchObject([lineOf('orders'), lineOf('inventory_items')]);
    expect(await sendAll()).toEqual([]);
    letASecondPass();
    expect(await sendAll()).toMatchObject([lineOf('orders', 5), lineOf('inventory_items', 1)]);
  });

  it('in 396 fields is logged once, and returned for 100 of the fields', async () => {
    await broken.db.write(raw('drop table if exists inventory_items'));
    const categoryId = await makeCategory(broken);
    await broken.db.write(sql`insert into pets (name, category_id)
      select 'Luna', ${BigInt(categoryId)} from generate_series(1, 4)`);
    const aliases = repeat(99, (index) => `a${index}: inventory { quantity }`);
    const query = `{ pets(last: 4) { nodes { ${aliases} } } }`;
    for (let time = 1; time <= 3; time += 1) {
      letASecondPass();
      const { data, errors, extensions } = await broken.graphql(query);
      expect(data.pets.nodes).toHaveLength(4);
      expect(errors).toHaveLength(100);
      expect(errors?.every((error) => error.extensions.status === 500)).toBe(true);
      expect(extensions).toEqual({ omittedErrors: 4 * 99 - 100 });
      expect(broken.loggedErrors.splice(0)).toMatchObject([{ path: ['pets', 'nodes', 0, 'a0'] }]);
    }
  });
});

describeOnGateways(() => {
  beforeAll(async () => {
    // Creates category 1 and pet 1.
    await makePet(gateway, { stock: 100 });
  });
  afterEach(() => {
    gateway.loggedErrors.length = 0;
  });

  describe('a write whose COMMIT fails', () => {
    beforeAll(async () => {
      await run(`create function reject_commit() returns trigger language plpgsql as
      $$ begin raise exception 'not committed'; end $$`);
    });

    it.each(WRITES)(
      'returns an error, changes nothing and can be retried: %s',
      async (write, table) => {
        const before = await count(table);
        const allow = await rejectCommits(table);
        const failed = await mutate(write);
        await allow();
        expect(codeOf(failed)).toBe('INTERNAL_SERVER_ERROR');
        expect(await count(table)).toBe(before);
        expect(codeOf(await mutate(write))).toBeUndefined();
        expect(await count(table)).toBe(before + 1);
      },
    );

    it('leaves no transaction open', async () => {
      const allow = await rejectCommits('categories');
      await expect(gateway.db.transaction(createOpen)).rejects.toThrow('not committed');
      await allow();
      await Promise.all(Array.from({ length: 20 }, () => gateway.db.transaction(createOpen)));
      const [state] = await gateway.db.query<{ alone: boolean }>(
        sql`select pg_current_xact_id_if_assigned() is null as alone`,
      );
      expect(state).toEqual({ alone: true });
    });
  });

  it('a transaction fails if one of its statements failed, even if the error was caught', async () => {
    const before = await count('categories');
    const work = gateway.db.transaction(async ({ query, write }) => {
      await write(sql`insert into categories (name) values ('Undone')`);
      await query(sql`select 1 / 0`).catch(() => {});
    });
    await expect(work).rejects.toThrow(/aborted|rolled back/);
    expect(await count('categories')).toBe(before);
  });

  describe('a write that the database rejects', () => {
    let petId: string;
    let categoryId: string;
    beforeAll(async () => {
      categoryId = await makeCategory(gateway);
      petId = await makePet(gateway, { categoryId, stock: 1000 });
      // Writes fail with the SQLSTATE that is stored as the comment on the table `categories`, if there is such a comment.
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

    async function write(): Promise<unknown[]> {
      const key = `idempotencyKey: "a key"`;
      const responses = await Promise.all(
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
      return responses.map(({ data, errors }) => errors?.[0]?.extensions.code ?? data);
    }

    it.each(STATES)('because of SQLSTATE %s, %s, returns %s', async (state, _what, code) => {
      await run(`comment on table categories is '${state}'`);
      // Retries wait for a random time: here, not at all.
      const random = vi.spyOn(Math, 'random').mockReturnValue(0);
      const codes = await write();
      random.mockRestore();
      expect(codes).toEqual(Array.from({ length: 7 }, () => code));
    });
  });
});

const reported = (severity: string, code: string): Error =>
  Object.assign(new Error('failed'), { severity, code });

it.each([
  // The severity is in the language of the server.
  ['FEHLER', 'P0001', true],
  ['ERROR', '45000', true],
  ['ERROR', '57014', true],
  // A pooler may report a lost server like this.
  ['ERROR', '08006', false],
  ['ERROR', '40003', false],
  ['ERROR', '58030', false],
  ['ERROR', 'XX000', false],
  ['ВАЖНО', '57P01', false],
])(
  'an error with severity %s and SQLSTATE %s means that the statement was certainly rolled back: %s',
  (...row) => {
    const [severity, code, expected] = row;
    expect(isRolledBack(reported(severity, code))).toBe(expected);
  },
);

it('an error that PostgreSQL did not report means that the statement may have been committed', () => {
  const broken = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  expect([broken, null].some(isRolledBack)).toBe(false);
});
