import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { createPglite } from '../../src/database/pglite.ts';
import { ask, killPrograms, startProgram } from '../support/program.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'store-'));
});
afterAll(async () => {
  await killPrograms();
  await rm(folder, { recursive: true, force: true });
});

// `npm test` checks this on PostgreSQL.
describe('an embedded store that was emptied', () => {
  it('stays empty after the next start', async () => {
    const first = await startProgram({ DATA_DIR: folder });
    expect(first.messages).toContain('Filled the sample store.');
    expect(await first.stop()).toBe(0);

    const pglite = await createPglite({ dataDir: join(folder, 'pglite') });
    await pglite.exec('truncate orders, inventory_items, pets, categories');
    await pglite.close();
    const second = await startProgram({ DATA_DIR: folder });
    expect(second.messages).not.toContain('Filled the sample store.');
    expect(await ask(second, '{ categories { totalCount } }')).toEqual({
      categories: { totalCount: 0 },
    });
    expect(await second.stop()).toBe(0);
  });
});
