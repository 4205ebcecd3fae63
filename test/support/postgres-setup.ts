import type { TestProject } from 'vitest/node';

import { createStoreOn, dropDatabaseOn, startPostgres } from './postgres.ts';

// Test data need not survive a crash of the machine.
const SETTINGS = ['fsync=off', 'full_page_writes=off'];

/**
 * Creates a migrated, empty database, which the tests copy: on the server of TEST_DATABASE_URL, or
 * else on a server that it starts.
 */
export async function setUpPostgres(project: TestProject): Promise<() => Promise<void>> {
  // oxlint-disable-next-line node/no-process-env -- a variable of the tests, not of the gateway
  const given = process.env['TEST_DATABASE_URL'];
  const started = given ? undefined : await startPostgres(SETTINGS);
  const server = given ?? started?.url ?? '';
  const url = await createStoreOn(server);
  project.provide('emptyPostgres', { server, url });
  return async () => {
    await dropDatabaseOn(server, url);
    await started?.remove();
  };
}
