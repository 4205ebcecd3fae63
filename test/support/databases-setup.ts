import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';

import type { TestProject } from 'vitest/node';

import { createPglite, migratePglite } from '../../src/gateway/database/embedded/pglite.ts';
import { createStoreFolder } from '../../src/gateway/database/embedded/store-folder.ts';
import { createLog } from '../../src/gateway/telemetry/log.ts';
import { MIGRATIONS } from '../../src/store/migrations.ts';
import { createStoreOn, dropDatabaseOn, startPostgres } from './postgres.ts';

/** Writes a migrated, empty PGlite to a file, from which the tests create theirs. */
async function setUpPglite(project: TestProject): Promise<() => Promise<void>> {
  // V8 would spend longer optimizing the WebAssembly than this process spends using it.
  setFlagsFromString('--liftoff-only');
  const folder = await mkdtemp(join(tmpdir(), 'store-pglite-'));
  const dataDir = join(folder, 'store');
  createStoreFolder(dataDir);
  const pglite = await createPglite({ dataDir });
  await migratePglite(MIGRATIONS, pglite, createLog('error'));
  const dump = await pglite.dumpDataDir('none');
  await pglite.close();
  const file = join(folder, 'dump.tar');
  await writeFile(file, new Uint8Array(await dump.arrayBuffer()));
  project.provide('emptyPglite', file);
  return () => rm(folder, { recursive: true, force: true });
}

// Test data need not survive a crash of the machine.
const SETTINGS = ['fsync=off', 'full_page_writes=off'];

/**
 * Creates a migrated, empty database, which the tests copy: on the server of TEST_DATABASE_URL, or
 * else on a server that it starts.
 */
async function setUpPostgres(project: TestProject): Promise<() => Promise<void>> {
  // oxlint-disable-next-line node/no-process-env -- a variable of the tests, not of the gateway
  const given = process.env['TEST_DATABASE_URL'];
  const started = given ? undefined : await startPostgres(SETTINGS);
  const server = given ?? started?.url ?? '';
  const url = await createStoreOn(server);
  project.provide('emptyPostgres', { server, url });
  return async () => {
    await dropDatabaseOn(server, url);
    await started?.remove();
  };
}

const SET_UPS = { PGlite: setUpPglite, PostgreSQL: setUpPostgres };

/** Creates the empty databases of a Vitest project, which its tests copy. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { databases } = project.getProvidedContext();
  const removals = await Promise.all(databases.map((database) => SET_UPS[database](project)));
  return async () => {
    await Promise.all(removals.map((remove) => remove()));
  };
}
