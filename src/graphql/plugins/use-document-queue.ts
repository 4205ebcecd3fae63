import type { Plugin } from 'graphql-yoga';

import { callerKeyOf } from '../../auth/scopes.ts';
import type { CallContext, Exchange } from '../../context.ts';
import type { Documents } from '../documents.ts';

/**
 * Runs each request for a document that is not cached in a turn of its caller, until its operation waits
 * for the store: parsing, validating and estimating the worst document within the limits takes as long as
 * a hundred small queries.
 */
export function useDocumentQueue(documents: Documents): Plugin<object, CallContext & Exchange> {
  // By the caller and the text: its other requests for the same document wait for this turn.
  const turns = new Map<string, Promise<unknown>>();
  return {
    onParams: ({
      params: { query: text },
      context: { caller, req },
      paramsHandler: run,
      setParamsHandler,
    }) => {
      if (!text || documents.find(text, caller)) return;
      const key = callerKeyOf(caller, req);
      const id = `${key} ${text}`;
      setParamsHandler(async (request) => {
        await turns.get(id);
        if (documents.find(text, caller)) return run(request);
        // In an object, as the turn ends before the operation does.
        const turn = documents.queueOf(text, caller)(key, () => ({ result: run(request) }));
        turns.set(id, turn);
        try {
          return (await turn).result;
        } finally {
          if (turns.get(id) === turn) turns.delete(id);
        }
      });
    },
  };
}
