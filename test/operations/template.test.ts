import { execFileSync } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { TEMPLATE } from '../../src/database/template.ts';

const PGLITE = 'node_modules/@electric-sql/pglite';
// What locks a folder: a native addon, and what finds it.
const LOCK_PACKAGES = [
  'node_modules/fs-native-extensions',
  'node_modules/require-addon',
  'node_modules/which-runtime',
  'node_modules/bare-addon-resolve',
  'node_modules/bare-module-resolve',
  'node_modules/bare-semver',
];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'template-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The number that initdb gives each PostgreSQL it makes. */
const identify = async (store: string): Promise<bigint> =>
  (await readFile(join(store, 'global/pg_control'))).readBigUInt64LE();

/** Makes a new store with the programs of a project, and gives what it says and where the store is. */
function makeStore(project: string, name: string): { log: string; store: string } {
  const dataDir = join(folder, name);
  const log = execFileSync(process.execPath, [join(project, 'dist/migrate.js')], {
    encoding: 'utf8',
    env: { DATA_DIR: dataDir },
  });
  return { log, store: join(dataDir, 'pglite') };
}

describe('a new store', () => {
  it('begins as a copy of the PostgreSQL that npm ci made', async () => {
    const { log, store } = makeStore('.', 'copied');
    expect(log).toContain('The database is up to date');
    expect(await identify(store)).toBe(await identify(TEMPLATE));
  });

  it('is made from nothing after npm ci --ignore-scripts', async () => {
    const project = join(folder, 'project');
    for (const name of [
      'dist',
      'package.json',
      'prisma',
      `${PGLITE}/dist`,
      `${PGLITE}/package.json`,
      ...LOCK_PACKAGES,
    ]) {
      await cp(name, join(project, name), { recursive: true });
    }
    const { log, store } = makeStore(project, 'made');
    expect(log).toContain('The database is up to date');
    expect(await identify(store)).not.toBe(await identify(TEMPLATE));
  });
});
