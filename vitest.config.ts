import { availableParallelism } from 'node:os';

import { defineConfig } from 'vitest/config';

// Vite would load the ES modules of graphql for our files and Node its CommonJS modules for
// everything else; graphql rejects objects of another instance of itself.
const resolve = { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] };

interface Options {
  include: string[];
  exclude?: string[];
  databases?: ('PGlite' | 'PostgreSQL')[];
  timeout?: number;
  /** What else runs before the tests. */
  setups?: string[];
}

/** Returns a project of Vitest: the tests of one script of package.json. */
function project(name: 'quick' | 'test' | 'long' | 'clients' | 'browser', options: Options) {
  const { databases = ['PGlite', 'PostgreSQL'], timeout = 60_000, setups = [], ...rest } = options;
  return {
    resolve,
    test: {
      name,
      ...rest,
      globalSetup: ['test/support/databases-setup.ts', ...setups],
      provide: { databases, isLong: name === 'long' },
      // No test mocks a module, so all files of a worker can share what they import.
      isolate: false,
      // V8 would compile PGlite a second time, better optimized: more CPU time than that saves. Threads for
      // garbage collection would wait for the cores that other workers use.
      execArgv: ['--liftoff-only', '--single-threaded-gc'],
      testTimeout: timeout,
      hookTimeout: timeout,
      // An event that a test waits for may come late beside a busy neighbour. Vitest waits for one second.
      expect: { poll: { timeout: 20_000 } },
    },
  };
}

// They do more rounds in `npm run test:long`, or take more combinations.
const ROUNDS = {
  store: 'test/store/{executor,filters,shared-orders}.test.ts',
  embedded: 'test/operations/{database-memory,kill}.test.ts',
  storeOnPostgres: 'test/store/postgres/carts.test.ts',
  postgres: 'test/operations/postgres/{broken-connections,outage}.test.ts',
};

export default defineConfig({
  test: {
    globalSetup: ['test/support/build.ts', 'test/support/temporary-folder.ts'],
    // One more than the cores, as some tests wait for programs or for PostgreSQL.
    maxWorkers: availableParallelism() + 1,
    // The tests in a folder `postgres` run on PostgreSQL; others say so themselves if they run on both
    // databases. The rest runs on PGlite.
    projects: [
      project('quick', {
        include: ['test/{store,gateway}/*.test.ts'],
        exclude: ['test/store/executor.test.ts'],
        databases: ['PGlite'],
      }),
      project('test', { include: ['test/{store,gateway,operations}/**/*.test.ts'] }),
      project('clients', { include: ['test/clients/*.test.ts'] }),
      project('browser', {
        include: ['test/browser/*.test.ts'],
        databases: ['PGlite'],
        setups: ['test/support/chromium-setup.ts'],
        timeout: 120_000,
      }),
      project('long', {
        include: ['test/long/**/*.test.ts', ...Object.values(ROUNDS)],
        timeout: 600_000,
      }),
    ],
  },
});
