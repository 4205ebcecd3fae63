import { PrismaPg } from '@prisma/adapter-pg';

import { StoreError } from '../../contract/errors.ts';
import { isConflict } from '../errors.ts';
import { retryConflicts } from '../retry.ts';
import type { Primary } from './primary.ts';
import type { Server } from './server.ts';

/**
 * Prisma's adapter. It sends each statement to the primary, and again after a conflict. Its transactions are
 * not used: in version 7.10 a COMMIT to which PostgreSQL responds with ROLLBACK is not an error.
 */
export class PrimaryAdapter extends PrismaPg {
  readonly #onPrimary: Primary['use'];

  constructor(url: string, onPrimary: Primary['use']) {
    // No connection is opened with this URL: the server's own are used.
    super(url);
    this.#onPrimary = onPrimary;
  }

  override async connect(): ReturnType<PrismaPg['connect']> {
    const adapter = await super.connect();
    const send = async <Result>(work: (server: Server) => Promise<Result>): Promise<Result> => {
      try {
        return await retryConflicts(() => this.#onPrimary(work), isConflict);
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        // Prisma replaces an error that has a code by its own, which has no cause.
        const { message } = error.cause instanceof Error ? error.cause : error;
        throw new Error(message, { cause: error });
      }
    };
    adapter.queryRaw = (statement) =>
      send(async ({ prismaSender }) => (await prismaSender()).queryRaw(statement));
    adapter.executeRaw = (statement) =>
      send(async ({ prismaSender }) => (await prismaSender()).executeRaw(statement));
    return adapter;
  }
}
