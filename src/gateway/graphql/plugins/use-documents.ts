import type { Plugin } from 'graphql-yoga';

import { callerKeyOf } from '../../auth/scopes.ts';
import type { CallContext, Exchange } from '../../context.ts';
import { RecipientGone } from '../../database/recipient.ts';
import { operationOf } from '../analysis/operation.ts';
import { type Bounds, parseWithin, validateWithin } from '../analysis/validation.ts';
import type { Documents } from '../documents.ts';

const ignore = (): void => {};

/**
 * Parses and validates documents within their limits, or takes them from the cache. A request for a document
 * that is not cached runs in a turn of its caller, until its operation waits for the store: parsing,
 * validating and estimating the worst document within the limits takes as long as a hundred small queries.
 */
export function useDocuments(
  documents: Documents,
  bounds: Bounds,
): Plugin<CallContext & Exchange, CallContext & Exchange> {
  // The ends of turns, by the caller and the text: other requests for the same document wait for the first.
  const turns = new Map<string, Promise<void>>();
  return {
    onParams: ({ params: { query: text }, context, paramsHandler: run, setParamsHandler }) => {
      const { caller, req, recipient, arrivedAt } = context;
      if (!text || documents.find(text, caller)) return;
      const key = callerKeyOf(caller, req);
      const id = `${key} ${text}`;
      setParamsHandler(async (request) => {
        await turns.get(id);
        if (documents.find(text, caller)) return run(request);
        const turn = documents.queueOf(text, caller)(
          key,
          () => {
            if (recipient.destroyed) throw new RecipientGone();
            // In an object, as the turn ends before the operation does.
            return { result: run(request) };
          },
          arrivedAt,
        );
        const end = turn.then(ignore, ignore);
        if (!turns.has(id))
          turns.set(
            id,
            end.finally(() => turns.delete(id)),
          );
        return (await turn).result;
      });
    },
    onParse: ({ params: { source }, context: { caller }, setParsedDocument, setParseFn }) => {
      const document = documents.find(String(source), caller);
      if (document) setParsedDocument(document);
      else setParseFn((text) => parseWithin(bounds.limits, text));
      // Also the operation of a request that is rejected.
      return ({ context: { requestLog, params }, result }) => {
        if (result === null || result instanceof Error) return;
        const operation = operationOf(result, params.operationName);
        if (!operation) return;
        requestLog.operationType = operation.node.operation;
        if (operation.name !== undefined) requestLog.operationName = operation.name;
      };
    },
    onValidate: ({ params: { documentAST }, setResult, setValidationFn }) => {
      if (documents.has(documentAST)) setResult([]);
      else setValidationFn((schema, document) => validateWithin(bounds, schema, document));
    },
  };
}
