import { afterEach, beforeEach, expect, it } from 'vitest';

import { ConfigError, readConfig } from '../../../src/config/config.ts';
import { forgetOldKeys } from '../../../src/database/idempotency.ts';
import { migratePostgres, openPostgres } from '../../../src/database/postgres.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { copyOnPostgres } from '../../support/databases.ts';
import { dropDatabaseOn, runSql } from '../../support/postgres.ts';

let database: Awaited<ReturnType<typeof copyOnPostgres>>;
let name: string;
beforeEach(async () => {
  database = await copyOnPostgres();
  name = new URL(database.url).pathname.slice(1);
});
afterEach(() => database.drop());

/** Opens a database and gives the warnings of its start. */
async function warningsOf(url: string): Promise<unknown[]> {
  const warnings: unknown[] = [];
  const log = createLog('silent');
  log.warn = (text: unknown) => void warnings.push(text);
  const db = await openPostgres(url, readConfig({}), log);
  await db.close();
  return warnings;
}

it('an ordinary database is opened without a warning', async () => {
  expect(await warningsOf(database.url)).toEqual([]);
});

it('warns of writes that a crash may lose', async () => {
  await runSql(database.url, `alter database ${name} set synchronous_commit to off`);
  expect(await warningsOf(database.url)).toEqual([expect.stringContaining('synchronous_commit')]);
});

it('warns of an LC_CTYPE by which a search tells É from é', async () => {
  const { username, password, host } = new URL(database.url);
  const server = `postgresql://${username}:${password}@${host}/postgres`;
  const plain = `c_${name}`;
  await runSql(server, `create database ${plain} encoding 'UTF8' locale 'C' template template0`);
  const url = `postgresql://${username}:${password}@${host}/${plain}`;
  await migratePostgres(url, readConfig({}), createLog('error'));
  expect(await warningsOf(url)).toEqual([expect.stringContaining('LC_CTYPE')]);
  await dropDatabaseOn(server, url);
});

/** A role that isn't a superuser, and what it opens the database as. */
async function withRole(work: (role: string, url: string) => Promise<void>): Promise<void> {
  const role = `role_${name}`;
  await runSql(
    database.url,
    `create role ${role} login password 'x'; grant all on all tables in schema public to ${role}`,
  );
  const url = new URL(database.url);
  url.username = role;
  url.password = 'x';
  try {
    await work(role, url.href);
  } finally {
    await runSql(database.url, `drop owned by ${role}; drop role ${role}`);
  }
}

it('warns of row security that hides rows from its role', async () => {
  await withRole(async (_role, url) => {
    expect(await warningsOf(url)).toEqual([]);
    await runSql(
      database.url,
      'alter table pets enable row level security; alter table orders enable row level security',
    );
    expect(await warningsOf(url)).toEqual([expect.stringContaining('rows of pets, orders that')]);
  });
});

it('starts for no role without foreign keys that it may not switch on', async () => {
  await withRole(async (role, url) => {
    await runSql(database.url, `alter role ${role} set session_replication_role to replica`);
    const opened = openPostgres(url, readConfig({}), createLog('silent'));
    await expect(opened).rejects.toThrow(ConfigError);
    await expect(opened).rejects.toThrow('session_replication_role');
  });
});

it('forgets old idempotency keys without waiting for one that another gateway has', async () => {
  const db = await openPostgres(database.url, readConfig({}), createLog('silent'));
  await db.prisma.$executeRaw`
    insert into idempotency_keys (key, request_hash, created_at)
    select 'old ' || number, '', now() - interval '1 day' from generate_series(1, 3) as number`;
  await db.transaction(async ({ prisma }) => {
    await prisma.$queryRaw`select 1 from idempotency_keys where key = 'old 2' for update`;
    await forgetOldKeys(db, 60_000);
  });
  expect(await runSql(database.url, 'select key from idempotency_keys')).toEqual([
    { key: 'old 2' },
  ]);
  await db.close();
});
