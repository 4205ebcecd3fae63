import type { GraphQLSchema } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import { callerKeyOf, requireScope } from '../../auth/caller.ts';
import type { Config } from '../../config/config.ts';
import { RecipientGone } from '../../database/recipient.ts';
import { operationOf } from '../analysis/operation.ts';
import { usageOf } from '../analysis/usage.ts';
import { parseWithin, validateWithin } from '../analysis/validation.ts';
import { createFindText, type Documents } from '../documents.ts';
import type { RequestContext } from '../execution/call.ts';
import type { Manifest } from '../manifest.ts';
import type { DocumentParams } from '../params.ts';

/** Returns the parameters with the text instead of the id, because Yoga rejects parameters that it does not know. */
const withText = (
  { documentId: _documentId, ...others }: DocumentParams,
  query: string,
): DocumentParams => ({ ...others, query });

const ignore = (): void => {};

/**
 * Requires the scope `read` for an operation that reads data. This is checked before validation, so a rejection is
 * cheap. A mutation's scope is required when the mutation is resolved (schema/mutations.ts).
 */
function requireRead({ operation, caller }: RequestContext, schema: GraphQLSchema): void {
  if (operation && usageOf(schema, operation).reads) requireScope(caller, 'read');
}

/**
 * Finds the document of a request, and takes it from the cache or parses and validates it. New documents take turns,
 * because parsing, validating and estimating the costliest document within the limits takes as long as a hundred small
 * queries:
 *
 *   cached                              run
 *   already requested by the caller     wait until the slot of that request ends, and look in the cache again
 *   anything else                       wait for a slot of the caller, then run; the slot ends when `run` first waits
 *
 * `run` is the rest of the request, from parsing to the result.
 */
export function useDocuments(
  documents: Documents,
  manifest: Manifest | undefined,
  config: Config,
): Plugin<RequestContext, RequestContext> {
  const findText = createFindText(documents, manifest, config.documents);
  // Promises that resolve when a slot ends, by caller and text. The caller's further requests for the same document wait
  // until the slot of the first request ends.
  const turns = new Map<string, Promise<void>>();
  return {
    onParams: ({ params: sent, setParams, context, paramsHandler: run, setParamsHandler }) => {
      const { caller, req, recipient, arrivedAt } = context;
      const params: DocumentParams = sent;
      const text = findText(params, caller);
      if (params.documentId) setParams(withText(params, text));
      if (documents.find(text, caller)) return;
      const key = callerKeyOf(caller, req);
      const id = `${key} ${text}`;
      setParamsHandler(async (request) => {
        await turns.get(id);
        if (documents.find(text, caller)) return run(request);
        const turn = documents.queueOf(text, caller)(
          key,
          () => {
            if (recipient.destroyed) throw new RecipientGone();
            // Wrapped in an object, so that the slot does not wait for the result's promise.
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
      else setParseFn((text) => parseWithin(config.limits, text));
      // Logs the operation even if the request is rejected later.
      return ({ context: { requestLog, params }, extendContext, result }) => {
        if (result === null || result instanceof Error) return;
        const operation = operationOf(result, params.operationName);
        if (!operation) return;
        extendContext({ operation });
        requestLog.operationType = operation.node.operation;
        if (operation.name !== undefined) requestLog.operationName = operation.name;
      };
    },
    onValidate: ({ params: { documentAST, schema }, context, setResult, setValidationFn }) => {
      requireRead(context, schema);
      if (documents.has(documentAST)) setResult([]);
      else setValidationFn((_schema, document) => validateWithin(config, schema, document));
    },
  };
}
