import { GatewayError } from '../../src/gateway/contract/gateway-error.ts';
import { openCopy } from './databases.ts';
import type { OpenDatabase } from './gateway.ts';

/** Whether a statement fails. */
type Fails = (isRead: boolean) => boolean;

/** A database that can fail, for example right after a write. */
export interface Outage {
  readonly open: OpenDatabase;
  /** Runs a function while the statements that meet a condition fail: by default reads, but not writes. */
  during<Result>(run: () => Promise<Result>, fails?: Fails): Promise<Result>;
}

/** Creates a database that a test can make fail. */
export function createOutage(): Outage {
  let fails: Fails | undefined;
  const check = (isRead: boolean): void => {
    if (fails?.(isRead)) throw new GatewayError('SERVICE_UNAVAILABLE');
  };
  return {
    open: async (config, log) => {
      const db = await openCopy(config, log);
      return {
        ...db,
        query: async (...asked) => {
          check(true);
          return db.query(...asked);
        },
        write: async (...asked) => {
          check(false);
          return db.write(...asked);
        },
      };
    },
    during: async (run, condition = (isRead) => isRead) => {
      fails = condition;
      try {
        return await run();
      } finally {
        fails = undefined;
      }
    },
  };
}
