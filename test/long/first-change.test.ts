import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { useFolder } from '../support/folders.ts';
import { post } from '../support/post.ts';
import { killPrograms, startProgram } from '../support/program.ts';

// Each block of code, and the last file named before it.
const BLOCK = /`([\w./-]+\.(?:ts|prisma|sql))`[^`]*```(?:diff|sql|ts)\n([^]*?)^```$/gm;
const tutorial = readFileSync('docs/first-change.md', 'utf8');
const folder = useFolder();

const linesOf = (diff: string, dropped: '+' | '-'): string =>
  diff
    .split('\n')
    .filter((line) => !line.startsWith(dropped))
    .map((line) => line.slice(1))
    .join('\n');

function apply(path: string, block: string): void {
  const file = join(folder, path);
  const isDiff = /^\+/m.test(block);
  if (!isDiff) {
    mkdirSync(dirname(file), { recursive: true });
    return writeFileSync(file, block);
  }
  const text = readFileSync(file, 'utf8');
  const before = linesOf(block, '+');
  expect(text.split(before)).toHaveLength(2);
  writeFileSync(
    file,
    text.replace(before, () => linesOf(block, '-')),
  );
}

/** Runs a command in the copy of the repository; returns its output only if it failed. */
function failureOf(command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8' });
  return status === 0 ? '' : stdout + stderr;
}

beforeAll(() => {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  });
  for (const file of listed.trim().split('\n')) cpSync(file, join(folder, file));
  symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'), 'junction');
});

function addEntries(): void {
  const [, entries = ''] = /```md\n([^]*?)^```$/m.exec(tutorial) ?? [];
  const file = join(folder, 'CHANGELOG.md');
  const text = readFileSync(file, 'utf8');
  const unreleased = text.includes('## Unreleased\n\n') ? '## Unreleased\n\n' : /(?=^## )/m;
  writeFileSync(
    file,
    text.replace(unreleased, () => `## Unreleased\n\n### Added\n\n${entries}\n`),
  );
}

describe('the change described in docs/first-change.md', () => {
  it('applies to the source, and compiles', () => {
    for (const [, path = '', block = ''] of tutorial.matchAll(BLOCK)) apply(path, block);
    addEntries();
    expect(failureOf('npm', 'run', 'prepare')).toBe('');
    expect(failureOf('npx', 'tsc')).toBe('');
  });

  it('is added to schema.graphql by `npm run fix`, which does not reformat its code', () => {
    expect(failureOf('npm', 'run', 'fix')).toBe('');
    const schema = readFileSync(join(folder, 'schema.graphql'), 'utf8');
    expect(schema).toContain('  birthDate: Date\n');
    expect(schema).toContain('\ntype Supplier implements Node {');
    for (const [, path = '', block = ''] of tutorial.matchAll(BLOCK)) {
      const text = readFileSync(join(folder, path), 'utf8');
      expect(text).toContain(/^\+/m.test(block) ? linesOf(block, '-') : block);
    }
  });

  // All tests that know the schema, the tables or the operations of the store. `npm test` passes, too, but takes longer.
  it('passes the tests of the store and of the contract', () => {
    const files = ['test/store/', 'test/gateway/changes', 'test/gateway/contract'];
    // With one worker, because the other long tests run at the same time.
    const vitest = ['vitest', 'run', '--project', 'main', '--maxWorkers', '1'];
    expect(failureOf('npx', ...vitest, ...files)).toBe('');
  });

  it('makes the gateway return the response that the tutorial shows', async () => {
    onTestFinished(killPrograms);
    const program = await startProgram({ DATA_DIR: join(folder, '.data') }, 'main', folder);
    const samples = [...tutorial.matchAll(/^```graphql\n([^]*?)^```\n\n```json\n([^]*?)^```$/gm)];
    expect(samples).toHaveLength(1);
    for (const [, query = '', shown = ''] of samples) {
      const response = await post(program, { query });
      expect(await response.json()).toEqual(JSON.parse(shown));
    }
  });
});
