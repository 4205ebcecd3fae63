// Releases a version: `npm run release -- <version>`. Checks that this is a clean `main` that passes every
// test, writes what belongs to the version, and commits and tags it. Pushing is left to you. With
// `--dry-run <folder>` it does the same, except for the tests, to a copy in that new folder, which stays.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { releaseChangelog, ReleaseError } from './release-changelog.ts';
import { findShipped, printLicenses, reduceBom } from './shipped-packages.ts';

const TESTS = ['check', 'test', 'test:browser', 'test:clients', 'test:long'];
// Again after the files of the version were written, as these tests read them.
const TESTS_OF_VERSION = ['check', 'test'];
const USAGE = 'Usage: npm run release -- <version> [--dry-run <folder>]';
// What the copy of a dry run has, but its repository does not.
const GENERATED = 'src/database/generated';
const MAX_OUTPUT_BYTES = 100_000_000;

/** Runs a program in a folder and returns its output. */
const read = (folder: string, program: string, ...args: string[]): string =>
  execFileSync(program, args, {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: MAX_OUTPUT_BYTES,
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();

/** Runs a program in a folder and shows its output. */
const run = (folder: string, program: string, ...args: string[]): void => {
  execFileSync(program, args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
};

/** Replaces the text of a file. */
function edit(folder: string, file: string, change: (text: string) => string): void {
  const path = join(folder, file);
  writeFileSync(path, change(readFileSync(path, 'utf8')));
}

/** @throws ReleaseError unless `folder` is a clean `main` without a tag of the version */
function expectClean(folder: string, version: string): void {
  const branch = read(folder, 'git', 'branch', '--show-current');
  if (branch !== 'main') throw new ReleaseError(`This is the branch ${branch}, not main.`);
  const changes = read(folder, 'git', 'status', '--porcelain');
  if (changes !== '')
    throw new ReleaseError(`There are changes that are not committed:\n${changes}`);
  const tag = read(folder, 'git', 'tag', '--list', `v${version}`);
  if (tag !== '') throw new ReleaseError(`The tag ${tag} exists.`);
}

/** Writes the version where it is named. */
function setVersion(folder: string, version: string): void {
  read(folder, 'npm', 'version', version, '--no-git-tag-version', '--ignore-scripts');
  const kubernetes = 'deploy/kubernetes.yaml';
  if (!existsSync(join(folder, kubernetes))) return;
  edit(folder, kubernetes, (text) =>
    text.replaceAll(/(image: pet-store-gateway:)\d+\.\d+\.\d+/g, `$1${version}`),
  );
}

/** Writes what ships: sbom.cdx.json and THIRD-PARTY-LICENSES.txt. */
function listShipped(folder: string): void {
  const shipped = findShipped(folder);
  const all = read(folder, 'npm', 'sbom', '--sbom-format=cyclonedx', '--package-lock-only');
  writeFileSync(join(folder, 'sbom.cdx.json'), reduceBom(all, shipped));
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), printLicenses(folder, shipped));
}

/**
 * Releases what is in `folder`, which needs its `node_modules`.
 * @throws ReleaseError
 */
function release(folder: string, version: string, withTests: boolean): void {
  expectClean(folder, version);
  const changelog = releaseChangelog(
    readFileSync(join(folder, 'CHANGELOG.md'), 'utf8'),
    version,
    new Date(),
  );
  if (withTests) for (const test of TESTS) run(folder, 'npm', 'run', test);
  setVersion(folder, version);
  writeFileSync(join(folder, 'CHANGELOG.md'), changelog);
  run(folder, process.execPath, 'build.js');
  run(folder, 'npx', 'tsx', 'scripts/keep-contract.ts');
  listShipped(folder);
  if (withTests) for (const test of TESTS_OF_VERSION) run(folder, 'npm', 'run', test);
  run(folder, 'git', 'add', '--all');
  run(folder, 'git', 'commit', '--quiet', `--message=release: ${version}`);
  run(folder, 'git', 'tag', '--annotate', `v${version}`, `--message=${version}`);
  run(folder, 'git', 'show', '--stat', '--format=%D%n%s', 'HEAD');
}

/**
 * Copies the files that Git knows or would add to a repository of their own, on a branch `main`.
 * @throws ReleaseError if the copy exists
 */
function copyTree(folder: string, copy: string): void {
  if (existsSync(copy)) throw new ReleaseError(`${copy} exists.`);
  const files = read(folder, 'git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard');
  const present = files.split('\0').filter((file) => file !== '' && existsSync(join(folder, file)));
  for (const file of [...present, GENERATED]) {
    cpSync(join(folder, file), join(copy, file), { recursive: true });
  }
  symlinkSync(realpathSync(join(folder, 'node_modules')), join(copy, 'node_modules'), 'junction');
  read(copy, 'git', 'init', '--initial-branch=main');
  read(copy, 'git', 'config', 'user.name', 'Release');
  read(copy, 'git', 'config', 'user.email', 'release@example');
  read(copy, 'git', 'add', '--all');
  read(copy, 'git', 'commit', '--message=A copy');
}

const { values, positionals } = parseArgs({
  options: { 'dry-run': { type: 'string' } },
  allowPositionals: true,
});
const copy = values['dry-run'];
try {
  const [version] = positionals;
  if (version === undefined) throw new ReleaseError(USAGE);
  if (copy !== undefined) copyTree(process.cwd(), copy);
  release(copy ?? process.cwd(), version, copy === undefined);
} catch (error) {
  if (!(error instanceof ReleaseError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
