import { PGlite } from '@electric-sql/pglite';
import type { TestProject } from 'vitest/node';

import { migratePglite } from '../../src/database/pglite.ts';
import { createLog } from '../../src/log.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A migrated, empty database: every gateway of the tests starts from a copy. */
    emptyDatabase: Uint8Array<ArrayBuffer>;
  }
}

export async function setup(project: TestProject): Promise<void> {
  const pglite = await PGlite.create();
  await migratePglite(pglite, createLog('error'));
  const dump = await pglite.dumpDataDir('none');
  project.provide('emptyDatabase', new Uint8Array(await dump.arrayBuffer()));
  await pglite.close();
}
