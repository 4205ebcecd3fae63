// Creates the template for new embedded databases unless it exists. `npm ci` runs this.
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';

import { PGlite } from '@electric-sql/pglite';

import { TEMPLATE } from '../src/gateway/database/template.ts';

async function createTemplate(): Promise<void> {
  const unfinished = `${TEMPLATE}-unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  const pglite = await PGlite.create(unfinished);
  await pglite.close();
  await rename(unfinished, TEMPLATE);
}

try {
  if (!existsSync(TEMPLATE)) await createTemplate();
} catch (error) {
  // The template only saves time: a failure must not break the installation.
  process.emitWarning(`New stores will take longer to create: ${String(error)}`);
}
