import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';

import { ConfigError, readConfig } from '../../../src/config/config.ts';
import { migratePostgres, openPostgres } from '../../../src/database/postgres.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { copyOnPostgres } from '../../support/databases.ts';
import { dropDatabaseOn, runSql } from '../../support/postgres.ts';
import { killPrograms, startProgram } from '../../support/program.ts';

let database: Awaited<ReturnType<typeof copyOnPostgres>>;
let name: string;
beforeEach(async () => {
  database = await copyOnPostgres();
  name = new URL(database.url).pathname.slice(1);
});
afterEach(() => database.drop());
afterAll(killPrograms);

/** Opens a database and returns the warnings in the log. */
async function warningsOf(url: string): Promise<unknown[]> {
  const warnings: unknown[] = [];
  const log = createLog('silent');
  log.warn = (text: unknown) => void warnings.push(text);
  const db = await openPostgres(url, readConfig({}), log);
  await db.close();
  return warnings;
}

it('logs no warning for a database with the usual settings', async () => {
  expect(await warningsOf(database.url)).toEqual([]);
});

it('warns if synchronous_commit is off, as a crash may then lose writes', async () => {
  await runSql(database.url, `alter database ${name} set synchronous_commit to off`);
  expect(await warningsOf(database.url)).toEqual([expect.stringContaining('synchronous_commit')]);
});

it('warns of an LC_CTYPE without the lower case of É, as a search then misses names', async () => {
  const { username, password, host } = new URL(database.url);
  const server = `postgresql://${username}:${password}@${host}/postgres`;
  const plain = `c_${name}`;
  await runSql(server, `create database ${plain} encoding 'UTF8' locale 'C' template template0`);
  const url = `postgresql://${username}:${password}@${host}/${plain}`;
  await migratePostgres(url, readConfig({}), createLog('error'));
  expect(await warningsOf(url)).toEqual([expect.stringContaining('LC_CTYPE')]);
  await dropDatabaseOn(server, url);
});

/** Creates a role that is no superuser, for as long as `work` takes. */
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

it('does not start if foreign keys are off for its role, which may not enable them', async () => {
  await withRole(async (role, url) => {
    await runSql(database.url, `alter role ${role} set session_replication_role to replica`);
    const opened = openPostgres(url, readConfig({}), createLog('silent'));
    await expect(opened).rejects.toThrow(ConfigError);
    await expect(opened).rejects.toThrow('session_replication_role');
  });
});

it('warns once of migrations of a later release, although it has two workers', async () => {
  await runSql(
    database.url,
    `insert into _prisma_migrations (id, checksum, migration_name, finished_at)
     values ('x', 'x', '20991231000000_later', now())`,
  );
  const program = await startProgram({ DATABASE_URL: database.url, WORKERS: '2' });
  await program.stop();
  expect(program.entries.filter(({ level }) => level === 40).map(({ msg }) => msg)).toEqual([
    'A later release of the gateway migrated the database: 20991231000000_later.',
  ]);
});
