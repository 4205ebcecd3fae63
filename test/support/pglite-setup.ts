import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';

import type { TestProject } from 'vitest/node';

import { createPglite, migratePglite } from '../../src/gateway/database/embedded/pglite.ts';
import { createStoreFolder } from '../../src/gateway/database/embedded/store-folder.ts';
import { createLog } from '../../src/gateway/telemetry/log.ts';
import { MIGRATIONS } from '../../src/store/migrations.ts';

/** Writes a migrated, empty PGlite to a file, from which the tests create theirs. */
export async function setUpPglite(project: TestProject): Promise<() => Promise<void>> {
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
