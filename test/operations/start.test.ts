import { statSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeAll, describe, expect, it } from 'vitest';

import { useProgramStore } from '../support/databases.ts';
import { holdLock, runSql } from '../support/postgres.ts';
import { ask, failureOf, spawnProgram, startProgram } from '../support/program.ts';

/** The template of new stores, which `npm ci` creates. */
const TEMPLATE = 'node_modules/@electric-sql/pglite/template-store';

const store = useProgramStore('PGlite');
let folder: string;
beforeAll(() => {
  folder = store.environment['DATA_DIR'] ?? '';
});

/** Returns the system identifier that initdb generates for a database cluster. */
const identify = async (pglite: string): Promise<bigint> =>
  (await readFile(join(pglite, 'global/pg_control'))).readBigUInt64LE();

describe('a gateway that starts on the embedded database', { timeout: 60_000 }, () => {
  it('replaces an unfinished store with a copy of the template, which only its owner can read, and does not migrate it if MIGRATE=false', async () => {
    await mkdir(join(folder, 'pglite'));
    await writeFile(join(folder, 'pglite/PG_VERSION'), '18');
    await writeFile(join(folder, 'unfinished'), '');
    const message = /^Migration \w+ has not been applied: run npm run migrate\.$/;
    const messages = await failureOf('main', { DATA_DIR: folder, MIGRATE: 'false' });
    expect(messages).toEqual([expect.stringMatching(message)]);
    expect(await readdir(folder)).not.toContain('unfinished');
    // test/operations/package.test.ts creates a store without the template.
    expect(await identify(join(folder, 'pglite'))).toBe(await identify(TEMPLATE));
    expect((await stat(join(folder, 'pglite'))).mode & 0o777).toBe(0o700);
  });

  it('can have its store migrated by `npm run migrate`, which logs each migration', async () => {
    const migration = spawnProgram('migrate', { DATA_DIR: folder });
    expect(await migration.end).toBe(0);
    const entries = await readdir('prisma/migrations', { withFileTypes: true });
    const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    expect(migration.messages).toEqual([
      ...names.toSorted().map((name) => `Applied migration ${name}.`),
      expect.stringMatching(/^The database is up to date: embedded PostgreSQL/),
    ]);
  });

  it('creates the sample store once, keeps what is written, and locks out other gateways', async () => {
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

    const second = await startProgram({
      DATA_DIR: folder,
      GRAPHIQL: 'false',
      NODE_ENV: 'prod',
    });
    expect(second.messages[0]).toMatch(/^NODE_ENV=prod has the effect of NODE_ENV=development/);
    expect(second.messages).not.toContain('Filled the sample store.');
    expect(second.messages.join('\n')).not.toContain('GraphiQL');
    expect(second.messages.join('\n')).not.toContain('Applied migration');
    expect(await ask(second, '{ pet(id: "101") { name } pets { totalCount } }')).toEqual({
      pet: { name: 'Pixel' },
      pets: { totalCount: 101 },
    });

    expect(await failureOf('main', { DATA_DIR: folder })).toEqual([
      'DATA_DIR is in use by another gateway. Stop that gateway, or choose another folder.',
    ]);
    expect((await fetch(`${second.url}/ready`)).status).toBe(200);
    expect(await second.stop('SIGINT')).toBe(0);
  });
});

it('a gateway that fails to start exits with a readable message if DATA_DIR is a file, is inside a file or /proc, or is a broken link', async () => {
  const file = join(folder, 'file');
  await writeFile(file, '');
  const link = join(folder, 'link');
  await symlink(join(folder, 'missing'), link);
  const places = [file, join(file, 'x/y'), link, '/proc/x', '/proc/x/y'];
  const all = await Promise.all(places.map((place) => failureOf('main', { DATA_DIR: place })));
  const message = expect.stringMatching(/^DATA_DIR can't be (used|locked): E[A-Z]+: .+\.$/);
  expect(all).toEqual(places.map(() => [message]));
});

describe('a new embedded database', () => {
  it('is copied from a template that every user can read, and only its owner can change', async () => {
    const entries = await readdir(TEMPLATE, { recursive: true });
    expect(entries).toContain('pg_logical/replorigin_checkpoint');
    const wrong = entries.filter((entry) => {
      const { mode } = statSync(join(TEMPLATE, entry));
      return ![0o644, 0o755].includes(mode & 0o777);
    });
    expect(wrong).toEqual([]);
  });
});

describe('a gateway whose DATA_DIR is damaged', { timeout: 120_000 }, () => {
  const damaged = useProgramStore('PGlite');
  let pglite: string;
  beforeAll(async () => {
    await damaged.run(`insert into categories (name) values ('Cats')`);
    pglite = join(damaged.environment['DATA_DIR'] ?? '', 'pglite');
  });

  it.each([
    ['PG_VERSION', undefined],
    ['global/pg_control', 'x'.repeat(100)],
    ['pg_wal/000000010000000000000001', undefined],
    ['postgresql.conf', undefined],
  ])('exits and advises to restore the backup: %s with the content %s', async (path, content) => {
    const file = join(pglite, path);
    const before = await readFile(file);
    await (content === undefined ? rm(file) : writeFile(file, content));
    const messages = await failureOf('main', damaged.environment);
    expect(messages).toEqual([expect.stringMatching(/^DATA_DIR: .+restore the backup\.$/)]);
    expect(messages.join()).not.toContain('--copy-embedded');
    await writeFile(file, before);
  });
});

it('a gateway whose DATA_DIR another version of PostgreSQL wrote names both versions, and how to copy the data', async () => {
  const other = join(folder, 'other');
  await cp(TEMPLATE, join(other, 'pglite'), { recursive: true });
  await writeFile(join(other, 'pglite/PG_VERSION'), '17');
  const versions = /initialized by PostgreSQL version 17, .+ version 18\.\d+\. .+--copy-embedded/;
  expect(await failureOf('main', { DATA_DIR: other })).toEqual([expect.stringMatching(versions)]);
});

describe('a gateway that starts on PostgreSQL', () => {
  const onPostgres = useProgramStore();

  it('exits with a readable message if the connection is lost', async () => {
    const { url, environment } = onPostgres;
    const unlock = await holdLock(url, 'lock table _prisma_migrations in access exclusive mode');
    const { entries, end } = spawnProgram('main', environment);
    const endWaiting = `select pg_terminate_backend(pid) as ended from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    await expect.poll(() => runSql(url, endWaiting)).toHaveLength(1);
    expect(await end).toBe(1);
    const msg = expect.stringMatching(/^DATABASE_URL: .+\.$/);
    expect(entries.at(-1)).toMatchObject({ level: 50, msg });
    expect(entries.at(-1)).not.toHaveProperty('err');
    await unlock();
  });

  it('does not refill a store that was emptied', async () => {
    await onPostgres.run(`insert into categories (name) values ('Cats');
      truncate categories cascade`);
    const program = await startProgram({ ...onPostgres.environment, SAMPLE_STORE: 'true' });
    expect(program.messages).not.toContain('Filled the sample store.');
    const empty = { categories: { totalCount: 0 } };
    expect(await ask(program, '{ categories { totalCount } }')).toEqual(empty);
  });
});

const changed = useProgramStore();

it.each(['main', 'migrate'] as const)(
  'a database that differs from the model is refused with one message: %s',
  async (name) => {
    await changed.run('alter table categories alter name drop not null');
    const message = /^The database differs from the model .+: column categories\.name is /;
    const messages = await failureOf(name, changed.environment);
    expect(messages).toEqual([expect.stringMatching(message)]);
  },
);

it.each([
  [{ PORT: 'abc' }, 'PORT must be a whole number from 0 to 65535.'],
  [
    { DATABASE_URL: 'postgresql://me:hunter2@127.0.0.1:1/store' },
    'DATABASE_URL: connect ECONNREFUSED 127.0.0.1:1.',
  ],
])(
  'a gateway with an invalid configuration logs one message that names the variable, and exits with code 1: %j',
  async (environment, sentence) => {
    expect(await failureOf('main', environment)).toEqual([sentence]);
  },
);

const shared = useProgramStore();

it(
  'gateways that start at the same time on an empty database migrate it once and create one sample store',
  { timeout: 120_000 },
  async () => {
    await shared.run('drop schema public cascade; create schema public');
    const environment = { ...shared.environment, SAMPLE_STORE: 'true' };
    const programs = await Promise.all([startProgram(environment), startProgram(environment)]);
    const messages = programs.flatMap((started) => started.messages);
    const applied = messages.filter((message) => message.startsWith('Applied migration'));
    expect(applied.length).toBe(new Set(applied).size);
    expect(applied.length).toBeGreaterThan(1);
    expect(messages.filter((message) => message === 'Filled the sample store.')).toHaveLength(1);
    for (const started of programs) {
      expect(await ask(started, '{ categories { totalCount } }')).toEqual({
        categories: { totalCount: 10 },
      });
      expect(await started.stop()).toBe(0);
    }
  },
);

it('a gateway whose port another gateway uses does not start, and says so', async () => {
  const first = await startProgram(shared.environment);
  const { port } = new URL(first.url);
  const messages = await failureOf('main', { ...shared.environment, PORT: port });
  const sentence = /^Cannot listen on HOST and PORT: .*EADDRINUSE/;
  expect(messages).toContainEqual(expect.stringMatching(sentence));
  expect(await first.stop()).toBe(0);
});
