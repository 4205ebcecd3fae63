import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, it } from 'vitest';

import { useFolder } from '../support/folders.ts';

// The files that `npm ci` creates.
const GENERATED = ['src/store/generated', 'dist/guide.json'];
const ROOT_MODULES = join(process.cwd(), 'node_modules');

describe('npm run release', () => {
  const folder = useFolder();
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  const readJson = (file: string): unknown => JSON.parse(read(file));
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim();

  /** Releases what is in CHANGELOG.md under `Unreleased`; returns what the script wrote to standard error. */
  const release = (): string => {
    const args = ['run', '--silent', 'release', '--', '--untested'];
    return spawnSync('npm', args, { cwd: folder, encoding: 'utf8' }).stderr;
  };
  const commitChangelog = (entries: string): void => {
    const text = read('CHANGELOG.md').replace(
      /(?<=^## Unreleased\n)[^]*?(?=^## )/m,
      `\n${entries}\n\n`,
    );
    writeFileSync(join(folder, 'CHANGELOG.md'), text);
    git('commit', '--quiet', '--all', '--message=changelog');
  };
  let version = '';

  beforeAll(() => {
    execFileSync('git', ['clone', '--quiet', process.cwd(), folder]);
    symlinkSync(ROOT_MODULES, join(folder, 'node_modules'), 'junction');
    for (const path of GENERATED) cpSync(path, join(folder, path), { recursive: true });
    // From the clone's version, because a release may be changing the version of this folder.
    const [major] = (readJson('package.json') as { version: string }).version.split('.');
    version = `${Number(major) + 1}.0.0`;
    git('switch', '--quiet', '--force-create', 'main');
    git('config', 'user.name', 'Release');
    git('config', 'user.email', 'release@example');
    commitChangelog('### Removed\n\n- **Breaking** `Pet.x`: why.');
    release();
  });

  it('commits and tags the new version, and leaves no uncommitted changes', () => {
    expect(git('describe', '--exact-match')).toBe(`v${version}`);
    expect(git('log', '-1', '--format=%s')).toBe(`release: ${version}`);
    expect(git('status', '--porcelain')).toBe('');
  });

  it('gives the unreleased changes a version and a date', () => {
    expect(read('CHANGELOG.md')).toMatch(
      new RegExp(`\n## Unreleased\n\n## ${version} - \\d{4}-\\d\\d-\\d\\d\n\n### Removed\n`),
    );
  });

  it('updates the version in package.json, package-lock.json and deploy/kubernetes.yaml', () => {
    expect(readJson('package.json')).toMatchObject({ version });
    expect(readJson('package-lock.json')).toMatchObject({ version, packages: { '': { version } } });
    const images = [...read('deploy/kubernetes.yaml').matchAll(/image: pet-store-gateway:(.*)/g)];
    expect(new Set(images.map(([, tag]) => tag))).toEqual(new Set([version]));
  });

  it('writes the OpenAPI document, the GraphQL schema and the SQL statements of the new version to test/released', () => {
    expect(readJson('test/released/openapi.json')).toMatchObject({ info: { version: '1.0.0' } });
    expect(read('test/released/schema.graphql')).toBe(read('schema.graphql'));
    const statements = readJson('test/released/statements.json') as { sql: string }[];
    expect(statements.length).toBeGreaterThan(200);
    for (const sql of ['insert into orders', 'delete from idempotency_keys']) {
      expect(statements.some((statement) => statement.sql.includes(sql))).toBe(true);
    }
  });

  it('writes an SBOM that lists the dependencies of a gateway, but no development dependencies', () => {
    const bom = readJson('release/sbom.cdx.json') as { components: { name: string }[] };
    expect(bom).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'pet-store-gateway', version } },
    });
    const names = bom.components.map(({ name }) => name);
    const { dependencies } = readJson('package.json') as { dependencies: object };
    expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
    for (const name of ['vitest', 'esbuild', 'prisma', 'playwright-core']) {
      expect(names).not.toContain(name);
    }
  });

  it('fails if there are no changes to release', () => {
    expect(release()).toContain('CHANGELOG.md has nothing under Unreleased.');
  });

  it('fails if an entry breaks callers without notice', () => {
    commitChangelog('### Removed\n\n- **Breaking, without notice** `Pet.x`: why.');
    expect(release()).toContain('breaks callers without notice');
  });

  it('fails if there are uncommitted changes', () => {
    commitChangelog('### Fixed\n\n- What was wrong.');
    writeFileSync(join(folder, 'README.md'), 'changed');
    expect(release()).toContain('There are uncommitted changes');
    git('restore', 'README.md');
  });
});
