import type { Database } from '../database/database.ts';
import type { Readiness } from '../database/probe.ts';
import { StoreError } from '../contract/errors.ts';
import { errorResponse, jsonResponse, type Route } from '../http/route.ts';
import type { ShutdownState } from './shutdown.ts';

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
export const createProbes = (db: Database, stopping: ShutdownState): Route[] => [
  { path: '/health', get: async () => jsonResponse({ status: 'alive' }) },
  {
    path: '/ready',
    get: async ({ query }) => {
      if (stopping.now) {
        return errorResponse(new StoreError('SERVICE_UNAVAILABLE', 'The gateway is stopping.'));
      }
      const { writes } = await ping(db);
      if (!writes && query.get('for') === 'writes') {
        return errorResponse(
          new StoreError('SERVICE_UNAVAILABLE', 'The database takes no writes.'),
        );
      }
      return jsonResponse({ status: 'ready', writes });
    },
  },
];
