import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

import type { Plugin, UserWorkspaceConfig } from 'vitest/config';
import { createVitest, type CliOptions } from 'vitest/node';

import config from '../../vitest.config.ts';
import { findFaults } from './find-faults.ts';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    // How many faults are planted, chosen at random.
    count: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Date.now() % 1000) },
    // Plants only faults whose names contain this text, such as a file and a line.
    only: { type: 'string', default: '' },
  },
});
const tests = positionals.filter((path) => path.endsWith('.test.ts'));
const sources = positionals.filter((path) => !tests.includes(path));
const all = sources
  .flatMap((path) => findFaults(path, readFileSync(path, 'utf8')))
  .filter(({ name }) => name.includes(options.only))
  .map((fault) => ({ ...fault, rank: hash('sha1', options.seed + fault.name) }));
const faults = all.toSorted((a, b) => a.rank.localeCompare(b.rank)).slice(0, Number(options.count));

let planted: (typeof faults)[number] | undefined;
const plugin: Plugin = {
  name: 'plant-fault',
  enforce: 'pre',
  transform: (_code, id) => (planted && id === resolve(planted.path) ? planted.source : undefined),
};
// The tests of the project `main` run the source, not the built programs.
const main = config.test?.projects?.[0] as UserWorkspaceConfig;
const settings: CliOptions = {
  ...main.test,
  ...(tests.length > 0 && { include: tests, exclude: [] }),
  related: sources,
  watch: false,
  reporters: [{}],
  bail: 1,
};
const vite = { resolve: main.resolve ?? {}, plugins: [plugin] };
const vitest = await createVitest('test', { ...settings, config: false }, vite);
const specifications = await vitest.getRelevantTestSpecifications();

let limitMs = 3_600_000;
/** Runs the tests with a fault, or without one, until one fails; returns its name. */
async function findFailure(fault?: typeof planted): Promise<string | undefined> {
  planted = fault;
  for (const path of sources) vitest.invalidateFile(resolve(path));
  let late: string | undefined;
  // A fault may block a process for ever. The second call kills it.
  const timer = setTimeout(() => {
    late = 'a timeout';
    void vitest.cancelCurrentRun('test-failure');
    void vitest.cancelCurrentRun('test-failure');
  }, limitMs);
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
  clearTimeout(timer);
  const failed = testModules.find((testModule) => !testModule.ok());
  const [test] = failed?.children.allTests('failed') ?? [];
  return test?.fullName ?? failed?.relativeModuleId ?? late ?? unhandledErrors.map(String)[0];
}

try {
  if (specifications.length === 0) throw new Error('No test imports these files.');
  await vitest.standalone();
  const start = performance.now();
  const failure = await findFailure();
  limitMs = 30_000 + 3 * (performance.now() - start);
  if (failure) throw new Error(`A test fails without a fault: ${failure}`);
  for (const fault of faults) {
    const test = await findFailure(fault);
    process.stdout.write(test ? `found  ${fault.name}, by "${test}"\n` : `MISSED ${fault.name}\n`);
  }
  process.stdout.write(`${faults.length} of ${all.length} faults, --seed ${options.seed}\n`);
} finally {
  await vitest.close();
}
