// Makes the template of new stores, unless it is there: `npm ci` asks.
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';

import { PGlite } from '@electric-sql/pglite';

import { TEMPLATE } from '../src/database/template.ts';

async function makeTemplate(): Promise<void> {
  const unfinished = `${TEMPLATE}-unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  const pglite = await PGlite.create(unfinished);
  await pglite.close();
  await rename(unfinished, TEMPLATE);
}

try {
  if (!existsSync(TEMPLATE)) await makeTemplate();
} catch (error) {
  // Nothing needs it: an installation must not fail for it.
  process.emitWarning(`New stores will take longer to make: ${String(error)}`);
}
