import { describe, expect, it } from 'vitest';

import { useCopy } from '../../support/databases.ts';
import { runSql } from '../../support/postgres.ts';
import { readReleased, repeatStatements } from '../../support/released.ts';

const released = readReleased().statements;

// The results of these statements may have other counts: each new migration adds a row, positions in the change log
// differ between databases, and a session sets only what the server does not.
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
  create table visits (id bigint primary key, pet_id bigint references pets on delete cascade);
  alter type pet_status add value 'lost'`;

describe('the statements of the last release', () => {
  const url = useCopy();

  it('write and read every table', () => {
    const all = released.map(({ sql }) => sql).join('\n');
    for (const table of ['categories', 'pets', 'inventory_items', 'orders', 'idempotency_keys']) {
      expect(all).toMatch(new RegExp(`insert into (?:"public"\\.)?"?${table}`, 'i'));
      expect(all).toMatch(new RegExp(`from (?:"public"\\.)?"?${table}`, 'i'));
    }
  });

  it('return the same results after all migrations', async () => {
    expect(await repeatStatements(url(), released)).toEqual(withoutCount);
  });

  it('return the same results after a migration that adds columns, an index, a table and an enum value', async () => {
    await runSql(url(), ADDITIONS);
    expect(await repeatStatements(url(), released)).toEqual(withoutCount);
  });

  it('read complete rows from changes that the current version recorded', async () => {
    const description = 'é'.repeat(2000);
    await runSql(
      url(),
      `insert into categories values (1, 'Cats', '${description}');
       update categories set name = 'Dogs'`,
    );
    const pages = released.filter(
      ({ sql, values }) =>
        sql.includes('as "before"') && / desc limit \d+\s*$/.test(sql) && values.length === 0,
    );
    expect(pages).not.toEqual([]);
    const after = { id: '1', name: 'Dogs', description };
    for (const { sql } of pages) {
      // Transactions of other tests may delay the changes.
      await expect
        .poll(async () => (await runSql(url(), sql)).find(({ kind }) => kind === 'updated'))
        .toMatchObject({ before: { ...after, name: 'Cats' }, after });
    }
  });
});
