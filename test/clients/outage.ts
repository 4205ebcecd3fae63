import { StoreError } from '../../src/contract/errors.ts';
import { openCopy, type TestDatabase } from '../support/databases.ts';
import type { OpenDatabase } from '../support/gateway.ts';

/** A database whose reads fail during an outage, but not its writes. */
export interface Outage {
  readonly open: OpenDatabase;
  /** Runs a function in an outage. */
  during<Result>(run: () => Promise<Result>): Promise<Result>;
}

/** Creates a database for a gateway: an outage can begin between a write and what is read after it. */
export function createOutage(): Outage {
  let isOut = false;
  return {
    open: async (config, log) => {
      const db: TestDatabase = await openCopy(config, log);
      return {
        ...db,
        query: async (statement, ...how) => {
          const isRead = !/\b(insert|update|delete)\b/i.test(statement.text);
          if (isOut && isRead) throw new StoreError('SERVICE_UNAVAILABLE');
          return db.query(statement, ...how);
        },
      };
    },
    during: async (run) => {
      isOut = true;
      try {
        return await run();
      } finally {
        isOut = false;
      }
    },
  };
}
