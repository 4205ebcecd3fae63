// Releases the next version: `npm run release`. Semantic versioning determines its number from the `Unreleased` section
// of CHANGELOG.md. Does not push. `--untested` skips the tests, to try the script in a clone.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { unreleasedOf } from '../test/support/changelog.ts';

const KUBERNETES = 'deploy/kubernetes.yaml';

/** Runs a program and shows its output. */
const run = (program: string, ...args: string[]): void =>
  void execFileSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });

/** Runs a program in a folder and returns its output. */
const read = (folder: string, program: string, ...args: string[]): string =>
  execFileSync(program, args, { cwd: folder, encoding: 'utf8', maxBuffer: 100_000_000 }).trim();

function toStep(entries: string): 'major' | 'minor' | 'patch' {
  if (/^- \*\*Breaking/m.test(entries)) return 'major';
  return /^### (?:Added|Deprecated)/m.test(entries) ? 'minor' : 'patch';
}

/**
 * Writes release/sbom.cdx.json. Runs outside the project: with development packages installed, `npm sbom --omit=dev`
 * omits dependencies that they share with the program.
 */
function writeSbom(): void {
  const folder = join(mkdtempSync(join(tmpdir(), 'release-')), 'pet-store-gateway');
  mkdirSync(folder);
  for (const file of ['package.json', 'package-lock.json']) copyFileSync(file, join(folder, file));
  read(folder, 'npm', 'pkg', 'delete', 'devDependencies');
  read(folder, 'npm', 'install', '--package-lock-only', '--ignore-scripts');
  const sbom = read(folder, 'npm', 'sbom', '--package-lock-only', '--sbom-format=cyclonedx');
  mkdirSync('release', { recursive: true });
  writeFileSync('release/sbom.cdx.json', `${sbom}\n`);
}

const changelog = readFileSync('CHANGELOG.md', 'utf8');
const entries = unreleasedOf(changelog);
if (entries === '') throw new Error('CHANGELOG.md has nothing under Unreleased.');
if (entries.includes('without notice')) {
  throw new Error(
    'An entry under Unreleased breaks callers without notice. Deprecate first, and break in a later release.',
  );
}
const changes = read('.', 'git', 'status', '--porcelain');
if (changes !== '') throw new Error(`There are uncommitted changes:\n${changes}`);

const flags = ['--no-git-tag-version', '--ignore-scripts'];
const version = read('.', 'npm', 'version', toStep(entries), ...flags).slice(1);
const day = new Date().toISOString().slice(0, 10);
writeFileSync(
  'CHANGELOG.md',
  changelog.replace('## Unreleased\n', `## Unreleased\n\n## ${version} - ${day}\n`),
);
const kubernetes = readFileSync(KUBERNETES, 'utf8');
const image = /(image: pet-store-gateway:)\d+\.\d+\.\d+/g;
writeFileSync(KUBERNETES, kubernetes.replaceAll(image, `$1${version}`));
run('npx', 'tsx', 'scripts/record.ts');
writeSbom();
if (!process.argv.includes('--untested')) run('.ci/run');
run('git', 'commit', '--quiet', '--all', `--message=release: ${version}`);
run('git', 'tag', '--annotate', `v${version}`, `--message=${version}`);
