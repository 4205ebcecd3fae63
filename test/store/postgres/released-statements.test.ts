import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';

import { readReleasedStatements } from '../../support/contract.ts';
import { copyOnPostgres } from '../../support/databases.ts';
import { runSql } from '../../support/postgres.ts';
import { repeatStatements } from '../../support/record-statements.ts';

const released = await readReleasedStatements();

// Each new migration adds a row, a place in the record of changes is another one in each database, and a
// session sets what the server does not.
const COUNT_DIFFERS = /_prisma_migrations|\bchanges\b|settled_changes|set_config/;
const withAnyCount = (result: string): RegExp =>
  new RegExp(`^${result.replace(/\d+$/, String.raw`\d+`)}$`);

const withoutCount = released.map((statement) =>
  COUNT_DIFFERS.test(statement.sql)
    ? { ...statement, result: expect.stringMatching(withAnyCount(statement.result)) as string }
    : statement,
);

const ADDITIONS = `
  alter table pets add column age integer;
  alter table orders add column gift boolean not null default false;
  create index on orders (quantity);
  create table owners (id bigint primary key, pet_id bigint references pets on delete cascade);
  alter type pet_status add value 'lost'`;

// Each stands for a kind of migration that would break gateways of the last release.
const BREAKING = [
  ['drops a column', 'alter table categories drop column description'],
  ['changes a type', 'alter table orders alter column quantity type bigint'],
  ['drops a default', 'alter table orders alter column complete drop default'],
] as const;
// These only in `npm run test:long`.
const ALSO_BREAKING = [
  ['renames a column', 'alter table orders rename column ship_date to ships_at'],
  ['renames a table', 'alter table inventory_items rename to stock'],
  ['adds a column that needs a value', 'alter table pets add column age integer not null'],
  ['narrows a type', 'alter table categories alter column description type varchar(1999)'],
  ['renames a value', `alter type pet_status rename value 'sold' to 'gone'`],
  ['adds a CHECK', 'alter table inventory_items add check (quantity < 1000000)'],
  ['makes a value required', 'alter table orders alter column ship_date set not null'],
  ['makes names unique', 'alter table categories add unique (name)'],
  [
    'drops the default of a time',
    'alter table idempotency_keys alter column created_at drop default',
  ],
  [
    'deletes more',
    `alter table orders drop constraint orders_pet_id_fkey,
       add foreign key (pet_id) references pets on delete cascade`,
  ],
  ['drops a table', 'drop table idempotency_keys'],
] as const;

describe('the statements of the last release', () => {
  let database: Awaited<ReturnType<typeof copyOnPostgres>>;
  beforeEach(async () => {
    database = await copyOnPostgres();
  });
  afterEach(() => database.drop());

  it('write and read every table', () => {
    const all = released.map(({ sql }) => sql).join('\n');
    for (const table of ['categories', 'pets', 'inventory_items', 'orders', 'idempotency_keys']) {
      expect(all).toMatch(new RegExp(`insert into (?:"public"\\.)?"?${table}`, 'i'));
      expect(all).toMatch(new RegExp(`from (?:"public"\\.)?"?${table}`, 'i'));
    }
  });

  it('return the same after all migrations', async () => {
    expect(await repeatStatements(database.url, released)).toEqual(withoutCount);
  });

  it('return the same after a migration that adds columns, an index, a table and a value', async () => {
    await runSql(database.url, ADDITIONS);
    expect(await repeatStatements(database.url, released)).toEqual(withoutCount);
  });

  it('read whole rows from changes that this release recorded', async () => {
    const description = 'é'.repeat(2000);
    await runSql(
      database.url,
      `insert into categories values (1, 'Cats', '${description}');
       update categories set name = 'Dogs'`,
    );
    const pages = released.filter(
      ({ sql, values }) => sql.includes('as "before"') && values.length === 0,
    );
    expect(pages).not.toEqual([]);
    const after = { id: '1', name: 'Dogs', description };
    for (const { sql } of pages) {
      // Transactions of other tests may delay the changes.
      await expect
        .poll(async () => (await runSql(database.url, sql)).find(({ kind }) => kind === 'updated'))
        .toMatchObject({ before: { ...after, name: 'Cats' }, after });
    }
  });

  it.each(inject('isLong') ? [...BREAKING, ...ALSO_BREAKING] : BREAKING)(
    'return something else after one that %s',
    async (_what, migration) => {
      await runSql(database.url, migration);
      expect(await repeatStatements(database.url, released)).not.toEqual(withoutCount);
    },
  );
});
