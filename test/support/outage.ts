import { GatewayError } from '../../src/gateway/contract/gateway-error.ts';
import type { Session, Statement } from '../../src/gateway/database/session.ts';
import { openCopy } from './databases.ts';
import type { OpenDatabase } from './gateway.ts';

/** Returns how to open a copy of the empty database, each of whose statements waits for `before`, and fails if that throws. */
export function openWatched(
  before: (statement: Statement, isRead: boolean) => unknown,
): OpenDatabase {
  const watch = ({ query, write }: Session): Session => ({
    query: async (...asked) => {
      await before(asked[0], true);
      return query(...asked);
    },
    write: async (...asked) => {
      await before(asked[0], false);
      return write(...asked);
    },
  });
  return async (config, log) => {
    const db = await openCopy(config, log);
    const transaction: typeof db.transaction = (work, ...how) =>
      db.transaction((session) => work(watch(session)), ...how);
    return { ...db, ...watch(db), transaction };
  };
}

type Fails = (isRead: boolean, text: string) => boolean;

/** Creates a database that a test can make fail, for example right after a write. */
export function createOutage() {
  let fails: Fails | undefined;
  const open = openWatched(({ text }, isRead) => {
    if (fails?.(isRead, text)) throw new GatewayError('SERVICE_UNAVAILABLE');
  });
  /** Runs a function while the statements that meet a condition fail: by default reads, but not writes. */
  async function during<Result>(
    run: () => Promise<Result>,
    condition: Fails = (isRead) => isRead,
  ): Promise<Result> {
    fails = condition;
    try {
      return await run();
    } finally {
      fails = undefined;
    }
  }
  return { open, during };
}
