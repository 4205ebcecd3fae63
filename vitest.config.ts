import { availableParallelism } from 'node:os';

import { defineConfig } from 'vitest/config';

// Without this, Vite would load the ES modules of graphql for our files, and Node.js its CommonJS modules for everything
// else. graphql rejects objects of another instance of itself.
const resolve = { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] };

interface Options {
  include: string[];
  exclude?: string[];
  /** The databases on which the tests run. A test that does not name a database uses the first. */
  databases: ('PGlite' | 'PostgreSQL')[];
  timeout?: number;
  /** What else runs before the tests. */
  setups?: string[];
}

/** Returns a Vitest project: tests that run on the same databases. */
function project(name: string, { databases, timeout = 60_000, setups = [], ...rest }: Options) {
  return {
    resolve,
    test: {
      name,
      ...rest,
      // Vitest runs the setups of projects before those of the root.
      globalSetup: [
        'test/support/temporary-folder.ts',
        'test/support/databases-setup.ts',
        ...setups,
      ],
      provide: { databases, isLong: name === 'long' },
      // No test mocks a module, so all files of a worker can share what they import.
      isolate: false,
      // V8 would compile PGlite a second time, better optimized, which takes more CPU time than it saves. Threads for
      // garbage collection would wait for the cores that other workers use.
      execArgv: ['--liftoff-only', '--single-threaded-gc'],
      testTimeout: timeout,
      hookTimeout: timeout,
      // On a busy machine, an event that a test waits for may come late. By default, Vitest waits for one second.
      expect: { poll: { timeout: 20_000 } },
    },
  };
}

// Builds the programs that tests start.
const BUILD = 'test/support/build.ts';

// Tests that do more rounds, or try more combinations, in `npm run test:long`.
const ROUNDS = [
  'test/store/{executor,filters,shop}.test.ts',
  'test/store/postgres/{carts,lock-order,plans}.test.ts',
  'test/operations/{database-memory,kill}.test.ts',
  'test/operations/postgres/{broken-connections,outage}.test.ts',
];

// Tests that wait for timeouts or try generated operations. They run in `npm run test:long`, not in `npm test`.
const LENGTHY = [
  'test/gateway/{document-queue,metrics,slow-readers,stream-budget,streams,websockets}.test.ts',
  'test/store/{shared-orders,subscriptions}.test.ts',
  'test/store/postgres/{gone-callers,replica,stalled-connection,waiting-migration}.test.ts',
];

// Tests that take longest in `npm test`: `npm run test:quick` omits them.
const SLOWEST = [
  'test/gateway/{cost,kinds-in-lists,pages}.test.ts',
  'test/gateway/both/executions.test.ts',
  'test/store/{bursts,executor,explain,filters,idempotency,shop,who}.test.ts',
  'test/store/both/database-errors.test.ts',
];

export default defineConfig({
  test: {
    // One more than the number of cores, because some tests wait for programs or for PostgreSQL.
    maxWorkers: availableParallelism() + 1,
    // `npm test` runs the project `main`: folders `both` on both databases, folders `pglite` on PGlite, and all else on
    // PostgreSQL. `npm run test:long` also runs the project `rest`: the tests outside these folders and outside folders
    // `postgres`, on PGlite. The other projects have the names of their scripts.
    projects: [
      project('main', {
        include: ['test/{store,gateway}/{*,both/*,postgres/*,pglite/*}.test.ts'],
        exclude: LENGTHY,
        databases: ['PostgreSQL', 'PGlite'],
      }),
      project('quick', {
        include: ['test/{store,gateway}/{*,both/*}.test.ts'],
        exclude: [...LENGTHY, ...SLOWEST],
        databases: ['PostgreSQL'],
      }),
      project('rest', {
        include: ['test/{store,gateway}/*.test.ts'],
        databases: ['PGlite'],
        timeout: 600_000,
      }),
      project('operations', {
        include: ['test/operations/**/*.test.ts'],
        databases: ['PGlite', 'PostgreSQL'],
        setups: [BUILD],
      }),
      project('long', {
        include: ['test/long/**/*.test.ts', ...LENGTHY, ...ROUNDS],
        databases: ['PostgreSQL', 'PGlite'],
        setups: [BUILD],
        timeout: 600_000,
      }),
      project('failover', {
        include: ['test/failover/*.test.ts'],
        databases: [],
        setups: [BUILD],
        timeout: 120_000,
      }),
      project('clients', {
        include: ['test/clients/*.test.ts'],
        databases: ['PGlite'],
        setups: [BUILD],
      }),
      project('conformance', {
        include: ['test/conformance/*.test.ts'],
        databases: [],
        setups: [BUILD],
        timeout: 120_000,
      }),
      project('browser', {
        include: ['test/browser/*.test.ts'],
        databases: ['PGlite'],
        setups: [BUILD, 'test/support/chromium-setup.ts'],
        timeout: 120_000,
      }),
    ],
  },
});
