import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Vite would take graphql's ES modules for our own files and Node its CommonJS ones for
  // everybody else's; graphql refuses to exist twice.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    // No test mocks a module, so all files of a worker can share what they import.
    isolate: false,
    // Vitest would leave a core to itself.
    maxWorkers: '100%',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What meets the database is tested on both, everything else once, on the embedded one.
    projects: [
      {
        extends: true,
        test: {
          name: 'embedded',
          include: ['test/{store,edge,operations}/*.test.ts'],
          globalSetup: ['test/support/build.ts', 'test/support/embedded-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: ['test/store/*.test.ts', 'test/*/postgres/*.test.ts'],
          globalSetup: ['test/support/build.ts', 'test/support/postgres-setup.ts'],
        },
      },
    ],
  },
});
