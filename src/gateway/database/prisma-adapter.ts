import { PrismaPg } from '@prisma/adapter-pg';
import { Pool, type QueryConfig, type QueryResult } from 'pg';

import { GatewayError } from '../contract/gateway-error.ts';

/**
 * Creates Prisma's adapter for `send`. It has a pool that never connects: @prisma/adapter-pg 7.10 sends each
 * statement by the function `query` of its pool. Its transactions are not used: a COMMIT to which PostgreSQL
 * responds with ROLLBACK is not an error there.
 */
export function createAdapter(send: (query: QueryConfig) => Promise<QueryResult>): PrismaPg {
  const query = async (config: QueryConfig): Promise<QueryResult> => {
    try {
      return await send(config);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      // Prisma replaces an error that has a code by its own, which has no cause.
      const { message } = error.cause instanceof Error ? error.cause : error;
      throw new Error(message, { cause: error });
    }
  };
  return new PrismaPg(Object.assign(new Pool(), { query }));
}
