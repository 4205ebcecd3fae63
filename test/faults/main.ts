import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

import { createVitest, type Vitest } from 'vitest/node';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    // Runs no other tests if the test that list.txt names for a fault does not find it.
    hinted: { type: 'boolean', default: false },
    // Includes the tests that only CI runs.
    ci: { type: 'boolean', default: false },
  },
});

const SCRIPTS = options.ci ? ['test', 'test:operations', 'test:long'] : ['test'];

/** A plausible mistake: a text that occurs once in a source file, and its replacement. */
interface Fault {
  /** The effect on callers. */
  readonly name: string;
  readonly file: string;
  readonly text: string;
  readonly replacement: string;
  /** The test that should fail: its file, and a pattern for its name. */
  readonly test: readonly [file: string, name: string];
}

/**
 * Reads list.txt: below the name of each source file, three lines for each fault: its name, `text → replacement` (in which
 * `⏎` stands for a line break), and the test that should fail.
 */
function readFaults(): Fault[] {
  const parts = readFileSync('test/faults/list.txt', 'utf8').trimEnd().split('\n\n');
  return parts.flatMap((part) => {
    const [file = '', ...lines] = part.split(/\n +/);
    return Array.from({ length: lines.length / 3 }, (_, index): Fault => {
      const [name = '', change = '', test = ''] = lines.slice(3 * index);
      const [text = '', replacement = ''] = change.replaceAll('⏎', '\n').split(/ →(?: |$)/);
      const [, testFile = '', testName = ''] = /^(\S+): (.*)$/.exec(test) ?? [];
      return { name, file, text, replacement, test: [testFile, testName] };
    });
  });
}

/** Returns the source with a fault. @throws Error unless the text to replace occurs exactly once */
function plant(source: string, { name, file, text, replacement }: Fault): string {
  const parts = source.split(text);
  if (parts.length === 2) return parts.join(replacement);
  throw new Error(`${file} has the text of "${name}" ${parts.length - 1} times, not once: ${text}`);
}

/** Copies the working tree, so that a crash does not leave a fault in it. */
function copyTree(): string {
  const folder = mkdtempSync(join(tmpdir(), 'faults-'));
  const omitted = new Set(['node_modules', '.git', '.data'].map((name) => resolve(name)));
  cpSync('.', folder, { recursive: true, filter: (path) => !omitted.has(resolve(path)) });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  return folder;
}

/**
 * Runs the tests that list.txt names for the given faults; returns the first that fails.
 * @throws Error if a file contains none of these tests
 */
async function runHinted(vitest: Vitest, tested: readonly Fault[]): Promise<string | undefined> {
  const names = tested.map(({ test: [, name] }) => name);
  vitest.setGlobalTestNamePattern(new RegExp(names.join('|')));
  const main = vitest.getProjectByName('main');
  const specifications = tested.map(({ test: [file] }) => main.createSpecification(resolve(file)));
  // One specification for each file.
  const unique = new Map(specifications.map((one) => [one.moduleId, one]));
  await vitest.runTestSpecifications([...unique.values()]);
  for (const { testModule } of unique.values()) {
    const [failed] = testModule?.children.allTests('failed') ?? [];
    if (failed) return failed.fullName;
    // A hook can fail without a failed test.
    if (!testModule?.ok()) return testModule?.relativeModuleId ?? 'nothing runs';
    const [passed] = testModule.children.allTests('passed');
    if (!passed) throw new Error(`${testModule.relativeModuleId} has no test for: ${names.join()}`);
  }
  return undefined;
}

/** Runs all tests until one fails; returns the npm script that failed. */
const runAll = (): string | undefined =>
  SCRIPTS.find(
    (script) =>
      spawnSync('npm', ['run', script, '--', '--bail', '1'], { stdio: 'ignore' }).status !== 0,
  );

/** Plants a fault; returns the test that finds it. */
async function findFault(vitest: Vitest, fault: Fault): Promise<string | undefined> {
  const path = resolve(fault.file);
  const source = readFileSync(path, 'utf8');
  writeFileSync(path, plant(source, fault));
  vitest.invalidateFile(path);
  const test = await runHinted(vitest, [fault]);
  const found = test ?? (options.hinted ? undefined : runAll());
  writeFileSync(path, source);
  vitest.invalidateFile(path);
  return found;
}

const faults = readFaults().filter(({ name }) => name.includes(options.only));
for (const fault of faults) plant(readFileSync(fault.file, 'utf8'), fault);
const folder = copyTree();
process.chdir(folder);
// A fault may make a test wait forever.
const TIMEOUT_MS = 20_000;
const vitest = await createVitest('test', {
  watch: false,
  reporters: [{}],
  testTimeout: TIMEOUT_MS,
});
try {
  await vitest.standalone();
  const broken = await runHinted(vitest, faults);
  if (broken) throw new Error(`A test fails without a fault: ${broken}`);
  let found = 0;
  for (const fault of faults) {
    const start = performance.now();
    const test = await findFault(vitest, fault);
    if (test) found += 1;
    const seconds = Math.round((performance.now() - start) / 1000);
    const result = test ? `found:  ${fault.name}, by "${test}"` : `MISSED: ${fault.name}`;
    process.stdout.write(`${result} (${seconds} s)\n`);
  }
  const share = Math.round((100 * found) / faults.length);
  process.stdout.write(`${found} of ${faults.length} faults found: ${share} %\n`);
  if (found < faults.length) process.exitCode = 1;
} finally {
  await vitest.close();
  rmSync(folder, { recursive: true, force: true });
}
