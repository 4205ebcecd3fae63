import { callerKeyOf } from '../auth/caller.ts';
import { RecipientGone } from '../database/recipient.ts';
import type { Documents } from './documents.ts';
import type { RequestContext } from './execution/call.ts';

const ignore = (): void => {};

/** Runs a request that needs a document with this text, when it is its turn. */
export type InTurn = <Result>(
  text: string,
  context: RequestContext,
  run: () => Result | Promise<Result>,
) => Promise<Result>;

/**
 * Creates the function in which requests with new documents take turns, because parsing, validating and estimating the
 * costliest document within the limits takes as long as a hundred small queries:
 *
 *   already requested by the caller     wait until the slot of that request ends, and run at once if it is cached now
 *   anything else                       wait for a slot of the caller, then run; the slot ends when `run` first waits
 *
 * `run` is the rest of the request, from parsing to the result.
 */
export function createTurns(documents: Documents): InTurn {
  // Promises that resolve when a slot ends, by caller and text. The caller's further requests for the same document wait
  // until the slot of the first request ends.
  const slots = new Map<string, Promise<void>>();
  return async (text, { caller, req, recipient, arrivedAt }, run) => {
    const key = callerKeyOf(caller, req);
    const id = `${key} ${text}`;
    await slots.get(id);
    if (documents.find(text, caller)) return run();
    const turn = documents.queueOf(text, caller)(
      key,
      () => {
        if (recipient.destroyed) throw new RecipientGone();
        // Wrapped in an object, so that the slot does not wait for the result's promise.
        return { result: run() };
      },
      arrivedAt,
    );
    const end = turn.then(ignore, ignore);
    if (!slots.has(id)) {
      slots.set(
        id,
        end.finally(() => slots.delete(id)),
      );
    }
    return (await turn).result;
  };
}
