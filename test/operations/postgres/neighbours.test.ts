import { afterEach, beforeEach, expect, it } from 'vitest';

import { openCopyOnPostgres } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { makeCategory } from '../../support/make.ts';
import { countLockWaits, holdLock } from '../../support/postgres.ts';

const POOL_SIZE = 6;
// A caller without a connection would wait for CONNECT_TIMEOUT_MS, which is 20 s here.
const HONEST_MS = 10_000;

let gateway: Gateway;
beforeEach(async () => {
  const limits = { POOL_SIZE: String(POOL_SIZE), CONNECT_TIMEOUT_MS: '20000' };
  gateway = await startGateway(limits, openCopyOnPostgres);
  await makeCategory(gateway);
});
afterEach(() => gateway.close());

// Every statement that reads pets waits for the lock.
const EVERY_STATEMENT = 'lock table pets in access exclusive mode';
/** A statement that reads more than the first rows of a table waits: a count does, a page does not. */
const everyLongRead = (table: string, fill: string): string => `
  insert into pets (name, category_id) select 'Luna', 1 from generate_series(1, 2000);
  ${fill}
  analyze ${table};
  alter table ${table} rename to every_row;
  create view ${table} as select * from every_row
    where id < 200 or pg_advisory_xact_lock_shared(7)::text is not null;
  commit;
  select pg_advisory_lock(7)`;
const EVERY_COUNT = everyLongRead('pets', '');
const EVERY_LIST = everyLongRead(
  'orders',
  'insert into orders (pet_id, quantity) select id, 1 from pets;',
);

async function untilWaiting(count: number): Promise<void> {
  await expect.poll(() => countLockWaits(gateway.databaseUrl)).toBe(count);
}

/** Expects quick responses to other requests while this many statements wait. */
async function expectOthersServed(waiting: number): Promise<void> {
  await untilWaiting(waiting);
  for (let turn = 0; turn < 3; turn += 1) {
    const start = performance.now();
    expect(await gateway.data('{ category(id: 1) { name } }')).toEqual({
      category: { name: 'Cats' },
    });
    expect((await gateway.rest('/ready')).status).toBe(200);
    expect((await gateway.rest('/store/orders?limit=100')).status).toBe(200);
    expect(performance.now() - start).toBeLessThan(HONEST_MS);
  }
  await untilWaiting(waiting);
}

const times = (count: number, toText: (index: number) => string): string[] =>
  Array.from({ length: count }, (_, index) => toText(index));
const filter = (index: number): string => `filter: { status: [${'AVAILABLE '.repeat(index + 1)}] }`;
const nested = times(50, (i) => `a${i}: pets(first: ${i + 1}) { nodes { id } }`).join(' ');

it.each([
  [
    'forty callers wait for all orders',
    EVERY_LIST,
    times(40, () => '/store/orders'),
    POOL_SIZE / 2,
  ],
  [
    'forty callers wait for name searches',
    EVERY_STATEMENT,
    times(40, (i) => `{ pets(first: 1, filter: { name: "zgx${i}" }) { nodes { id } } }`),
    POOL_SIZE / 2,
  ],
  [
    'forty callers wait for counts',
    EVERY_COUNT,
    times(40, (i) => `{ pets(first: 1, ${filter(i)}) { totalCount } }`),
    POOL_SIZE / 2,
  ],
  [
    'forty callers wait for counts in each category',
    EVERY_COUNT,
    times(40, (i) => `{ categories { nodes { pets(first: 1, ${filter(i)}) { totalCount } } } }`),
    POOL_SIZE / 2,
  ],
  [
    'one caller waits for fifty nested lists',
    EVERY_STATEMENT,
    [`{ categories(first: 1) { nodes { ${nested} } } }`],
    4,
  ],
])(
  'a busy gateway serves requests from other callers while %s',
  async (_what, lock, operations, waiting) => {
    const release = await holdLock(gateway.databaseUrl, lock);
    const asked = operations.map((operation) =>
      operation.startsWith('/')
        ? gateway.rest(operation).then((response) => response.json())
        : gateway.data(operation),
    );
    await expectOthersServed(waiting);
    await release();
    expect(await Promise.all(asked)).toHaveLength(operations.length);
  },
);
