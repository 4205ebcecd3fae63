import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it } from 'vitest';

import { ConfigError, readConfig } from '../../../src/gateway/config/config.ts';
import { openPostgres } from '../../../src/gateway/database/postgres.ts';
import { openDatabaseOf } from '../../../src/gateway/server/serve.ts';
import { createLog } from '../../../src/gateway/telemetry/log.ts';
import { petStore } from '../../../src/store/index.ts';
import { MIGRATIONS } from '../../../src/store/migrations.ts';
import { copyOnPostgres } from '../../support/databases.ts';
import { makeFolder } from '../../support/folders.ts';
import { withManifest } from '../../support/manifest.ts';
import { runSql } from '../../support/postgres.ts';

let database: Awaited<ReturnType<typeof copyOnPostgres>>;
let name: string;
beforeEach(async () => {
  database = await copyOnPostgres();
  name = new URL(database.url).pathname.slice(1);
});
afterEach(() => database.drop());

/** Opens the store on the database and returns the warnings in the log. */
async function readWarnings(environment: Record<string, string> = {}): Promise<unknown[]> {
  const warnings: unknown[] = [];
  const log = createLog('silent');
  log.warn = (text: unknown) => void warnings.push(text);
  const config = readConfig({ DATABASE_URL: database.url, ...environment });
  const db = await openDatabaseOf(petStore, config, log);
  await db.close();
  return warnings;
}

it('a database with the usual settings causes no warning', async () => {
  expect(await readWarnings()).toEqual([]);
});

it('synchronous_commit=off causes a warning, because a crash may lose writes', async () => {
  await runSql(database.url, `alter database ${name} set synchronous_commit to off`);
  expect(await readWarnings()).toEqual([expect.stringContaining('synchronous_commit')]);
});

const documentOf = (operation: string): string =>
  `"Cancels an order." mutation ${operation}($id: ID!, $key: String!) {
     cancelOrder(id: $id, idempotencyKey: $key) { ... on Error { status } } }`;

it('each trusted document that uses a deprecated field causes a warning', () =>
  withManifest(
    { d0: documentOf('Cancel'), d1: '{ __typename }', d2: documentOf('CancelAnother') },
    async (DOCUMENTS_MANIFEST) => {
      const warnings = await readWarnings({ DOCUMENTS: 'trusted', DOCUMENTS_MANIFEST });
      expect(warnings).toEqual(
        ['d0', 'd2'].map((id) =>
          expect.stringMatching(`^The document ${id}: The field Error\\.status is deprecated\\. `),
        ),
      );
    },
  ));

it('a tool that uses a deprecated field causes a warning that names it', async () => {
  const MCP_OPERATIONS = makeFolder();
  writeFileSync(join(MCP_OPERATIONS, 'cancel.graphql'), documentOf('cancel'));
  expect(await readWarnings({ MCP_OPERATIONS })).toEqual([
    expect.stringMatching(/^The tool cancel: The field Error\.status is deprecated\. /),
  ]);
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
