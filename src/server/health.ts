import type { Database } from '../database/database.ts';
import type { Readiness } from '../database/probe.ts';
import { StoreError } from '../contract/errors.ts';
import { errorAnswer, jsonAnswer, type Route } from '../http/route.ts';
import type { Stopping } from './shutdown.ts';

/** @throws StoreError if the database does not answer. */
async function ping(db: Database): Promise<Readiness> {
  try {
    return await db.ping();
  } catch (error) {
    throw new StoreError('SERVICE_UNAVAILABLE', undefined, error);
  }
}

/**
 * GET /health and GET /ready, for load balancers and supervisors. A database that only answers reads
 * is ready; a caller that needs more asks /ready?for=writes.
 */
export const createProbes = (db: Database, stopping: Stopping): Route[] => [
  { path: '/health', get: async () => jsonAnswer({ status: 'alive' }) },
  {
    path: '/ready',
    get: async ({ query }) => {
      if (stopping.now) {
        return errorAnswer(new StoreError('SERVICE_UNAVAILABLE', 'The gateway is stopping.'));
      }
      const { writes } = await ping(db);
      if (!writes && query.get('for') === 'writes') {
        return errorAnswer(new StoreError('SERVICE_UNAVAILABLE', 'The database takes no writes.'));
      }
      return jsonAnswer({ status: 'ready', writes });
    },
  },
];
