import { StoreError } from '../../src/contract/errors.ts';
import { openCopy, type TestDatabase } from './databases.ts';
import type { OpenDatabase } from './gateway.ts';

/** A database that can fail between a write and what follows it. */
export interface Outage {
  readonly open: OpenDatabase;
  /** Runs a function while reads fail, but not writes. */
  during<Result>(run: () => Promise<Result>): Promise<Result>;
  /** Runs a function while all statements fail but the first ones. */
  afterStatements<Result>(count: number, run: () => Promise<Result>): Promise<Result>;
}

const never = (): boolean => false;

/** Creates a database for a gateway. */
export function createOutage(): Outage {
  let fails: (isRead: boolean) => boolean = never;
  const runWhile = async <Result>(
    condition: typeof fails,
    run: () => Promise<Result>,
  ): Promise<Result> => {
    fails = condition;
    try {
      return await run();
    } finally {
      fails = never;
    }
  };
  return {
    open: async (config, log) => {
      const db: TestDatabase = await openCopy(config, log);
      return {
        ...db,
        query: async (statement, ...how) => {
          if (fails(true)) throw new StoreError('SERVICE_UNAVAILABLE');
          return db.query(statement, ...how);
        },
        write: async (statement) => {
          if (fails(false)) throw new StoreError('SERVICE_UNAVAILABLE');
          return db.write(statement);
        },
      };
    },
    during: (run) => runWhile((isRead) => isRead, run),
    afterStatements: (count, run) => {
      let left = count;
      return runWhile(() => {
        left -= 1;
        return left < 0;
      }, run);
    },
  };
}
