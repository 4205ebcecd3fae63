import type { Database } from '../database/database.ts';
import { StoreError } from '../errors.ts';
import { errorAnswer, jsonAnswer, type Route } from '../http/answer.ts';
import type { Stopping } from '../stop.ts';

/** GET /health and GET /ready, for load balancers and who restarts processes. */
export const createProbes = (db: Database, stopping: Stopping): Route[] => [
  { path: '/health', get: async () => jsonAnswer({ status: 'alive' }) },
  {
    path: '/ready',
    get: async () => {
      if (stopping.now) {
        return errorAnswer(new StoreError('SERVICE_UNAVAILABLE', 'The gateway is stopping.'));
      }
      try {
        await db.ping();
      } catch (error) {
        throw new StoreError('SERVICE_UNAVAILABLE', undefined, error);
      }
      return jsonAnswer({ status: 'ready' });
    },
  },
];
