import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Vite would take graphql's ES modules for our own files and Node its CommonJS ones for
  // everybody else's; graphql refuses to exist twice.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    // No test mocks a module, so all files of a worker can share what they import.
    isolate: false,
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
});
