import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { releaseChangelog } from '../../scripts/release-changelog.ts';

const PROGRAM = join(process.cwd(), 'scripts/release.ts');
const TSX = join(process.cwd(), 'node_modules/.bin/tsx');
const OXFMT = join(process.cwd(), 'node_modules/.bin/oxfmt');
const GENERATED = 'src/database/generated';
const BREAKING = '### Removed\n\n- **Breaking** `Pet.x`: why.\n';

const read = (folder: string, file: string): string => readFileSync(join(folder, file), 'utf8');
const readJson = (folder: string, file: string): unknown => JSON.parse(read(folder, file));

/** Runs `npm run release` in a folder; returns what it wrote to standard error. */
const tryRelease = (folder: string, ...args: string[]): string =>
  spawnSync(TSX, [PROGRAM, ...args], { cwd: folder, encoding: 'utf8' }).stderr;

describe('npm run release', () => {
  const { version: current } = readJson('.', 'package.json') as { version: string };
  const version = `${Number(current.split('.')[0]) + 1}.0.0`;
  const parent = mkdtempSync(join(tmpdir(), 'release-'));
  const source = join(parent, 'source');
  const copy = join(parent, 'copy');
  let before: string;
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: copy, encoding: 'utf8' }).trim();

  beforeAll(() => {
    execFileSync('git', ['clone', '--quiet', process.cwd(), source]);
    symlinkSync(join(process.cwd(), 'node_modules'), join(source, 'node_modules'), 'junction');
    cpSync(GENERATED, join(source, GENERATED), { recursive: true });
    // Directly after a release, nothing is unreleased.
    before = read(source, 'CHANGELOG.md').replace(
      '## Unreleased\n',
      `## Unreleased\n\n${BREAKING}`,
    );
    writeFileSync(join(source, 'CHANGELOG.md'), before);
    execFileSync(TSX, [PROGRAM, version, '--dry-run', copy], {
      cwd: source,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  });
  afterAll(() => rmSync(parent, { recursive: true, force: true }));

  it('commits and tags the version, and leaves nothing that is not committed', () => {
    expect(git('describe', '--exact-match')).toBe(`v${version}`);
    expect(git('log', '-1', '--format=%s')).toBe(`release: ${version}`);
    expect(git('status', '--porcelain')).toBe('');
  });

  it('changes nothing here if it is a dry run', () => {
    expect(read(source, 'CHANGELOG.md')).toBe(before);
    expect(readJson(source, 'package.json')).toMatchObject({ version: current });
  });

  it('writes files that pass the check of the format', () => {
    const { status, stdout } = spawnSync(OXFMT, ['--check'], { cwd: copy, encoding: 'utf8' });
    expect({ status, stdout }).toMatchObject({ status: 0 });
  });

  it('gives the changes a version and a date', () => {
    expect(read(copy, 'CHANGELOG.md')).toMatch(
      new RegExp(`\n## Unreleased\n\n## ${version} - \\d{4}-\\d\\d-\\d\\d\n\n### `),
    );
  });

  it('writes the version wherever it is named', () => {
    expect(readJson(copy, 'package.json')).toMatchObject({ version });
    expect(readJson(copy, 'package-lock.json')).toMatchObject({
      version,
      packages: { '': { version } },
    });
    const images = [
      ...read(copy, 'deploy/kubernetes.yaml').matchAll(/image: pet-store-gateway:(.*)/g),
    ];
    expect(new Set(images.map(([, tag]) => tag))).toEqual(new Set([version]));
  });

  it('keeps the contract and the statements of the version', () => {
    const released = join(copy, 'test/released');
    expect(read(released, 'version.txt')).toBe(`${version}\n`);
    expect(readJson(released, 'openapi.json')).toMatchObject({ info: { version: '1.0.0' } });
    expect(read(released, 'schema.graphql')).toBe(read(copy, 'schema.graphql'));
    const statements = readJson(released, 'statements.json') as { sql: string }[];
    expect(statements.length).toBeGreaterThan(200);
    expect(statements.some(({ sql }) => sql.includes('insert into orders'))).toBe(true);
  });

  it('lists what ships in an SBOM, in the bundle or installed with it, and nothing else', () => {
    const bom = readJson(copy, 'sbom.cdx.json') as { components: { name: string }[] };
    expect(bom).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'pet-store-gateway', version } },
    });
    const names = bom.components.map(({ name }) => name);
    const shipped = ['@electric-sql/pglite', 'pg', 'graphql', 'graphql-yoga', 'swagger-ui-dist'];
    expect(names).toEqual(expect.arrayContaining(shipped));
    for (const name of ['vitest', 'esbuild', 'prisma', 'playwright-core']) {
      expect(names).not.toContain(name);
    }
  });

  it('lists the license of each package of the SBOM', () => {
    const bom = readJson(copy, 'sbom.cdx.json') as {
      components: { name: string; version: string }[];
    };
    const licenses = read(copy, 'THIRD-PARTY-LICENSES.txt');
    for (const { name, version: one } of bom.components) {
      expect(licenses).toContain(`\n${name} ${one}\n\nLicense: `);
    }
  });

  it('ends without changes that could be released', () => {
    expect(tryRelease(copy, version)).toContain(`The tag v${version} exists.`);
    expect(tryRelease(copy, '99.0.0')).toContain('CHANGELOG.md has nothing under Unreleased.');
    expect(tryRelease(copy)).toContain('Usage: ');
  });

  it('ends on another branch, and with changes that are not committed', () => {
    git('switch', '--quiet', '--create', 'other');
    expect(tryRelease(copy, '99.0.0')).toContain('This is the branch other, not main.');
    git('switch', '--quiet', 'main');
    writeFileSync(join(copy, 'README.md'), 'changed');
    expect(tryRelease(copy, '99.0.0')).toContain('There are changes that are not committed');
  });
});

const toChangelog = (entries: string): string =>
  `# Changelog\n\n## Unreleased\n\n${entries}\n## 1.2.3 - 2026-11-21\n\n### Fixed\n\n- One.\n`;

describe('a version', () => {
  const date = new Date('2027-01-02T03:04:05Z');
  it.each([
    [
      '### Fixed\n\n- Two.\n',
      ['1.2.4', '1.3.0', '2.0.0'],
      ['1.2.3', '1.2.5', '1.3.4', '3.0.0', '2'],
    ],
    ['### Added\n\n- Two.\n', ['1.3.0', '2.0.0'], ['1.2.4']],
    ['### Removed\n\n- **Breaking** `Pet.x`: why.\n', ['2.0.0'], ['1.2.4', '1.3.0']],
  ])('follows from the entries %j', (entries, allowed, rejected) => {
    const changelog = toChangelog(entries);
    for (const version of allowed) {
      const heading = `## Unreleased\n\n## ${version} - 2027-01-02\n\n${entries}`;
      expect(releaseChangelog(changelog, version, date)).toContain(heading);
    }
    for (const version of rejected) {
      expect(() => releaseChangelog(changelog, version, date)).toThrow('The version cannot be');
    }
  });

  it('needs entries', () => {
    expect(() => releaseChangelog(toChangelog(''), '1.2.4', date)).toThrow('has nothing under');
  });
});
