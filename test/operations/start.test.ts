import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { TEMPLATE } from '../../src/database/template.ts';
import {
  ask,
  killPrograms,
  type LogEntry,
  spawnProgram,
  startProgram,
} from '../support/program.ts';
import { rounds } from '../support/rounds.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'store-'));
});
afterAll(async () => {
  await killPrograms();
  await rm(folder, { recursive: true, force: true });
});

/** Returns the number that initdb gives to each PostgreSQL. */
const identify = async (store: string): Promise<bigint> =>
  (await readFile(join(store, 'global/pg_control'))).readBigUInt64LE();

const toNumber = ({ err }: LogEntry): number => Number((err as { message: string }).message);

describe('starting the gateway', { timeout: 60_000 }, () => {
  it('replaces a store whose creation was interrupted with a copy of the template, and does not migrate it with MIGRATE=false', async () => {
    await mkdir(join(folder, 'pglite'));
    await writeFile(join(folder, 'pglite/PG_VERSION'), '18');
    await writeFile(join(folder, 'unfinished'), '');
    const failed = spawnProgram('main', { DATA_DIR: folder, MIGRATE: 'false' });
    expect(await failed.end).toBe(1);
    expect(failed.messages).toEqual([
      expect.stringMatching(/^Migration \w+ was not applied: run npm run migrate\.$/),
    ]);
    expect(await readdir(folder)).not.toContain('unfinished');
    // test/long/template.test.ts creates a store without the template.
    expect(await identify(join(folder, 'pglite'))).toBe(await identify(TEMPLATE));
  });

  it('uses a store that `npm run migrate` has migrated', async () => {
    const migration = spawnProgram('migrate', { DATA_DIR: folder });
    expect(await migration.end).toBe(0);
    const entries = await readdir('prisma/migrations', { withFileTypes: true });
    const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    expect(migration.messages).toEqual([
      ...names.toSorted().map((name) => `Applied migration ${name}.`),
      expect.stringMatching(/^The database is up to date: embedded PostgreSQL/),
    ]);
  });

  it('creates the sample store once, keeps what is written, and lets no other gateway use it', async () => {
    const first = await startProgram({ DATA_DIR: folder });
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

    const third = spawnProgram('main', { DATA_DIR: folder });
    expect(await third.end).toBe(1);
    expect(third.messages).toEqual([
      'DATA_DIR is in use by another gateway: stop that one, or choose another folder.',
    ]);
    expect((await fetch(`${second.url}/ready`)).status).toBe(200);
    expect(await second.stop('SIGINT')).toBe(0);
  });
});

/**
 * Logs a numbered line in each turn of the event loop of a program that starts, while the only thread of
 * libuv's pool is busy: the last lines would overtake a write that waits for that thread.
 */
const NUMBERED_LINES = `
  import { pbkdf2 } from 'node:crypto';
  process.on('newListener', (event) => {
    if (event !== 'unhandledRejection') return;
    const keepBusy = () => pbkdf2('', '', 5000, 64, 'sha512', keepBusy);
    keepBusy();
    let lines = 0;
    const log = () => {
      Promise.reject(new Error(String(lines)));
      lines += 1;
      setImmediate(log);
    };
    log();
  });`;
const NUMBERED = {
  DATABASE_URL: 'postgresql://127.0.0.1:1/store',
  UV_THREADPOOL_SIZE: '1',
  NODE_OPTIONS: `--stack-trace-limit=0 --import "data:text/javascript,${encodeURIComponent(NUMBERED_LINES)}"`,
};
// A write in flight was overtaken in about every third start.
const STARTS = rounds(2, 20);

describe('a start that fails', () => {
  it('ends with a sentence if DATA_DIR can be no folder', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    const link = join(folder, 'link');
    await symlink(join(folder, 'missing'), link);
    // Of /proc/x the system says that it does not exist, also when it is to be created.
    const programs = ['/proc/x/y', file, join(file, 'x/y'), link].map((place) =>
      spawnProgram('main', { DATA_DIR: place }),
    );
    for (const program of programs) {
      expect(await program.end).toBe(1);
      expect(program.messages).toEqual([
        expect.stringMatching(/^DATA_DIR can't be (used|locked): E[A-Z]+: .+\.$/),
      ]);
    }
  });

  it('logs its lines in order, the reason last', async () => {
    for (let started = 0; started < STARTS; started += 2) {
      for (const program of [spawnProgram('main', NUMBERED), spawnProgram('main', NUMBERED)]) {
        expect(await program.end).toBe(1);
        const numbers = program.entries.slice(0, -1).map(toNumber);
        expect(numbers.length).toBeGreaterThan(0);
        expect(numbers).toEqual([...numbers.keys()]);
        expect(program.messages.at(-1)).toBe('DATABASE_URL: connect ECONNREFUSED 127.0.0.1:1.');
      }
    }
  }, 120_000);
});
