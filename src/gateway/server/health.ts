import { GatewayError } from '../contract/gateway-error.ts';
import type { Database } from '../database/database.ts';
import { errorResponse, jsonResponse, type Route } from '../http/route.ts';
import type { ShutdownState } from './shutdown.ts';

/**
 * Creates GET /health and GET /ready, for load balancers and supervisors. With a read-only database the
 * gateway is ready, unless the caller requests /ready?for=writes.
 */
export const createHealthRoutes = (db: Database, shutdown: ShutdownState): Route[] => [
  { path: '/health', get: async () => jsonResponse({ status: 'alive' }) },
  {
    path: '/ready',
    get: async ({ query }) => {
      if (shutdown.hasStarted) {
        return errorResponse(
          new GatewayError('SERVICE_UNAVAILABLE', 'The gateway is shutting down.'),
        );
      }
      const { writes } = await db.ping();
      if (!writes && query.get('for') === 'writes') {
        return errorResponse(
          new GatewayError('SERVICE_UNAVAILABLE', 'The database does not accept writes.'),
        );
      }
      return jsonResponse({ status: 'ready', writes });
    },
  },
];
