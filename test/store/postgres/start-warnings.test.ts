import { afterEach, beforeEach, expect, it } from 'vitest';

import { ConfigError, readConfig } from '../../../src/gateway/config/config.ts';
import { openPostgres } from '../../../src/gateway/database/postgres.ts';
import { createLog } from '../../../src/gateway/telemetry/log.ts';
import { MIGRATIONS } from '../../../src/store/migrations.ts';
import { copyOnPostgres } from '../../support/databases.ts';
import { runSql } from '../../support/postgres.ts';

let database: Awaited<ReturnType<typeof copyOnPostgres>>;
let name: string;
beforeEach(async () => {
  database = await copyOnPostgres();
  name = new URL(database.url).pathname.slice(1);
});
afterEach(() => database.drop());

/** Opens a database and returns the warnings in the log. */
async function warningsOf(url: string): Promise<unknown[]> {
  const warnings: unknown[] = [];
  const log = createLog('silent');
  log.warn = (text: unknown) => void warnings.push(text);
  const db = await openPostgres(MIGRATIONS, url, readConfig({}), log);
  await db.close();
  return warnings;
}

it('a database with the usual settings causes no warning', async () => {
  expect(await warningsOf(database.url)).toEqual([]);
});

it('synchronous_commit=off causes a warning, because a crash may lose writes', async () => {
  await runSql(database.url, `alter database ${name} set synchronous_commit to off`);
  expect(await warningsOf(database.url)).toEqual([expect.stringContaining('synchronous_commit')]);
});

it('a gateway does not start if foreign keys are off for its role, and the role is not allowed to turn them on', async () => {
  const role = `role_${name}`;
  await runSql(
    database.url,
    `create role ${role} login password 'x'; grant all on all tables in schema public to ${role};
     alter role ${role} set session_replication_role to replica`,
  );
  const url = new URL(database.url);
  url.username = role;
  url.password = 'x';
  const opened = openPostgres(MIGRATIONS, url.href, readConfig({}), createLog('silent'));
  await expect(opened).rejects.toThrow(ConfigError);
  await expect(opened).rejects.toThrow('session_replication_role');
  await runSql(database.url, `drop owned by ${role}; drop role ${role}`);
});
