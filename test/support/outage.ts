import { GatewayError } from '../../src/gateway/contract/gateway-error.ts';
import { openCopy } from './databases.ts';
import type { OpenDatabase } from './gateway.ts';

/** Whether a statement fails. */
type Fails = (isRead: boolean, text: string) => boolean;

/** Creates a database that a test can make fail, for example right after a write. */
export function createOutage() {
  let fails: Fails | undefined;
  const check = (isRead: boolean, { text }: { readonly text: string }): void => {
    if (fails?.(isRead, text)) throw new GatewayError('SERVICE_UNAVAILABLE');
  };
  const open: OpenDatabase = async (config, log) => {
    const db = await openCopy(config, log);
    return {
      ...db,
      query: async (...asked) => {
        check(true, asked[0]);
        return db.query(...asked);
      },
      write: async (...asked) => {
        check(false, asked[0]);
        return db.write(...asked);
      },
    };
  };
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
