import { execFileSync } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { TEMPLATE } from '../../src/database/template.ts';
import { V8_FLAGS } from '../support/program.ts';

const PGLITE = 'node_modules/@electric-sql/pglite';
// The native addon that locks a folder, and the packages that find it.
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

/** Returns the number that initdb gives to each PostgreSQL. */
const identify = async (store: string): Promise<bigint> =>
  (await readFile(join(store, 'global/pg_control'))).readBigUInt64LE();

/** Creates a store with the program of a project; returns its log and the folder of the store. */
function createStore(project: string, name: string): { log: string; store: string } {
  const dataDir = join(folder, name);
  const log = execFileSync(process.execPath, [...V8_FLAGS, join(project, 'dist/migrate.js')], {
    encoding: 'utf8',
    env: { DATA_DIR: dataDir },
  });
  return { log, store: join(dataDir, 'pglite') };
}

describe('a new store', () => {
  it('is a copy of the PostgreSQL that npm ci created', async () => {
    const { log, store } = createStore('.', 'copied');
    expect(log).toContain('The database is up to date');
    expect(await identify(store)).toBe(await identify(TEMPLATE));
  });

  it('is created without that copy after npm ci --ignore-scripts', async () => {
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
    const { log, store } = createStore(project, 'made');
    expect(log).toContain('The database is up to date');
    expect(await identify(store)).not.toBe(await identify(TEMPLATE));
  });
});
