import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { createPglite } from '../../src/database/pglite.ts';
import { ask, killPrograms, spawnProgram, startProgram } from '../support/program.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'store-'));
});
afterAll(async () => {
  killPrograms();
  await rm(folder, { recursive: true, force: true });
});

const start = () => startProgram({ DATA_DIR: folder });

describe('starting the gateway', { timeout: 60_000 }, () => {
  it('makes a store anew whose making was cut off', async () => {
    await mkdir(join(folder, 'pglite'));
    await writeFile(join(folder, 'pglite/PG_VERSION'), '18');
    await writeFile(join(folder, 'unfinished'), '');
    const program = spawnProgram('main', { DATA_DIR: folder, MIGRATE: 'false' });
    await program.end;
    expect(program.messages).toEqual([expect.stringContaining('was not applied')]);
    expect(await readdir(folder)).not.toContain('unfinished');
  });

  it('can be told to leave the migrations to npm run migrate', async () => {
    const refused = spawnProgram('main', { DATA_DIR: folder, MIGRATE: 'false' });
    expect(await refused.end).toBe(1);
    expect(refused.messages).toEqual([
      expect.stringMatching(/^Migration \w+ was not applied: run npm run migrate\.$/),
    ]);
    const migration = spawnProgram('migrate', { DATA_DIR: folder });
    expect(await migration.end).toBe(0);
    expect(migration.messages).toEqual([
      expect.stringMatching(/^Applied migration \w+\.$/),
      expect.stringMatching(/^Applied migration \w+\.$/),
      expect.stringMatching(/^The database is up to date: embedded PostgreSQL/),
    ]);
  });

  it('makes the sample store once, keeps what is written, and stops on SIGTERM', async () => {
    const first = await start();
    expect(first.messages).toEqual(
      expect.arrayContaining([
        'Filled the sample store.',
        `Database: embedded PostgreSQL (PGlite) in ${join(folder, 'pglite')}`,
        expect.stringMatching(/^Listening on http:\/\/127\.0\.0\.1:\d+$/),
        `GraphiQL: ${first.url}/graphql`,
      ]),
    );
    expect((await fetch(`${first.url}/ready`)).status).toBe(200);
    expect(await ask(first, '{ categories { totalCount } pets { totalCount } }')).toEqual({
      categories: { totalCount: 10 },
      pets: { totalCount: 100 },
    });
    const made = await ask(
      first,
      'mutation { createPet(input: { name: "Pixel", categoryId: "2" }) { ... on Pet { id } } }',
    );
    expect(made).toEqual({ createPet: { id: '101' } });
    expect(await first.stop()).toBe(0);

    const second = await startProgram({ DATA_DIR: folder, GRAPHIQL: 'false' });
    expect(second.messages).not.toContain('Filled the sample store.');
    expect(second.messages.join('\n')).not.toContain('GraphiQL');
    expect(second.messages.join('\n')).not.toContain('Applied migration');
    expect(await ask(second, '{ pet(id: "101") { name } pets { totalCount } }')).toEqual({
      pet: { name: 'Pixel' },
      pets: { totalCount: 101 },
    });
    expect(await second.stop()).toBe(0);
  });

  it('does not fill a store again that was emptied', async () => {
    const pglite = await createPglite({ dataDir: join(folder, 'pglite') });
    await pglite.exec('truncate orders, inventory_items, pets, categories');
    await pglite.close();
    const third = await start();
    expect(third.messages).not.toContain('Filled the sample store.');
    expect(await ask(third, '{ categories { totalCount } }')).toEqual({
      categories: { totalCount: 0 },
    });
    expect(await third.stop()).toBe(0);
  });

  it('is refused on a folder that another gateway uses', async () => {
    const first = await start();
    const second = spawnProgram('main', { DATA_DIR: folder });
    expect(await second.end).toBe(1);
    expect(second.messages).toEqual([
      'DATA_DIR is in use by another gateway: stop that one, or choose another folder.',
    ]);
    expect((await fetch(`${first.url}/ready`)).status).toBe(200);
    expect(await first.stop('SIGINT')).toBe(0);
  });
});
