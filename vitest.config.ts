import { availableParallelism } from 'node:os';

import { defineConfig } from 'vitest/config';

// Vite would load the ES modules of graphql for our files and Node its CommonJS modules for
// everything else; graphql rejects objects of another instance of itself.
const resolve = { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] };

/** Returns a project of Vitest: some of the tests, on one of the two databases. */
function project(name: string, database: 'embedded' | 'postgres', include: string[]) {
  const isLong = name.startsWith('long');
  const timeout = isLong ? 600_000 : 60_000;
  return {
    resolve,
    test: {
      name,
      include,
      globalSetup: `test/support/${database}-setup.ts`,
      provide: { isLong },
      // No test mocks a module, so all files of a worker can share what they import.
      isolate: false,
      testTimeout: timeout,
      hookTimeout: timeout,
    },
  };
}

// They do more rounds in the projects `long-*`.
const ROUNDS = {
  edge: 'test/edge/hostile-input.test.ts',
  store: 'test/store/{executor,races}.test.ts',
  embedded:
    'test/operations/{broken-connections,broken-log,folder-lock,full-disk,hostile-load,kill,maintenance,open-files,start,stop-signals}.test.ts',
  postgres: 'test/operations/postgres/{kill,outage,readiness,stop}.test.ts',
};

export default defineConfig({
  test: {
    globalSetup: 'test/support/build.ts',
    // One more than the cores, as some tests wait for programs or for PostgreSQL.
    maxWorkers: availableParallelism() + 1,
    // The tests of the store run on both databases. The others run once, on the embedded database,
    // except those in a folder `postgres`. Only `npm run test:long` runs the projects `long-*`.
    projects: [
      project('embedded', 'embedded', ['test/{store,edge,operations}/*.test.ts']),
      project('postgres', 'postgres', [
        'test/store/*.test.ts',
        'test/{store,edge,operations}/postgres/*.test.ts',
      ]),
      project('long-embedded', 'embedded', [
        'test/long/*.test.ts',
        ROUNDS.edge,
        ROUNDS.store,
        ROUNDS.embedded,
      ]),
      project('long-postgres', 'postgres', [
        'test/long/postgres/*.test.ts',
        ROUNDS.store,
        ROUNDS.postgres,
      ]),
    ],
  },
});
