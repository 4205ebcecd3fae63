import type { Plugin } from 'graphql-yoga';

import { callerKeyOf } from '../../auth/scopes.ts';
import type { CallContext, Exchange } from '../../context.ts';
import { RecipientGone } from '../../database/recipient.ts';
import type { Documents } from '../documents.ts';

const ignore = (): void => {};

/** Does something after the end of an earlier turn. */
async function takeTurn<Result>(
  before: Promise<void> | undefined,
  work: () => Result | Promise<Result>,
): Promise<Result> {
  await before;
  return work();
}

/**
 * Runs each request for a document that is not cached in a turn of its caller, until its operation waits
 * for the store: parsing, validating and estimating the worst document within the limits takes as long as
 * a hundred small queries.
 */
export function useDocumentQueue(documents: Documents): Plugin<object, CallContext & Exchange> {
  // The end of the last turn, by the caller and the text: its next request for the same document waits for it.
  const turns = new Map<string, Promise<void>>();
  return {
    onParams: ({
      params: { query: text },
      context: { caller, req, recipient, arrivedAt },
      paramsHandler: run,
      setParamsHandler,
    }) => {
      if (!text || documents.find(text, caller)) return;
      const key = callerKeyOf(caller, req);
      const id = `${key} ${text}`;
      setParamsHandler(async (request) => {
        const work = () => {
          if (recipient.destroyed) throw new RecipientGone();
          // In an object, as the turn ends before the operation does.
          return { result: run(request) };
        };
        const turn = takeTurn(turns.get(id), () =>
          documents.find(text, caller)
            ? work()
            : documents.queueOf(text, caller)(key, work, arrivedAt),
        );
        const end = turn.then(ignore, ignore);
        turns.set(id, end);
        try {
          return (await turn).result;
        } finally {
          if (turns.get(id) === end) turns.delete(id);
        }
      });
    },
  };
}
