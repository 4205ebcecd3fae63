import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, it } from 'vitest';

import { expectNoDataLogged, FAULTS } from '../support/logged.ts';
import { prepareStore } from '../support/prepared-store.ts';
import { killPrograms, startProgram } from '../support/program.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'log-'));
  await prepareStore(folder, FAULTS);
});
afterAll(async () => {
  await killPrograms();
  await rm(folder, { recursive: true, force: true });
});

// `npm test` checks this on PostgreSQL, whose errors have other properties.
describe('the log on the embedded database, even at level debug,', () => {
  it('has no data of callers or of the store, whatever fails', async () => {
    const environment = { DATA_DIR: folder, SAMPLE_STORE: 'false', LOG_LEVEL: 'debug' };
    await expectNoDataLogged(await startProgram(environment));
  });
});
