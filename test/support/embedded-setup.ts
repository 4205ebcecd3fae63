import type { TestProject } from 'vitest/node';

import { createPglite, migratePglite } from '../../src/database/pglite.ts';
import { createLog } from '../../src/telemetry/log.ts';

/** Makes a migrated, empty database: every gateway of the tests starts from a copy. */
export async function setup(project: TestProject): Promise<void> {
  const pglite = await createPglite({});
  await migratePglite(pglite, createLog('error'));
  const dump = await pglite.dumpDataDir('none');
  project.provide('emptyDatabase', { dump: new Uint8Array(await dump.arrayBuffer()) });
  await pglite.close();
}
