import { OperationTypeNode } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import type { CallContext, Context, Exchange } from '../../context.ts';
import { type Operation, operationOf } from '../analysis/operation.ts';
import type { Documents } from '../documents.ts';
import type { Execute } from '../execution/call.ts';
import { schema } from '../schema.ts';
import { addOperation } from './use-request-log.ts';

/** Whether a request may execute an operation: GET may not change the store, and Yoga executes subscriptions. */
const isAllowed = ({ node }: Operation, method: string): boolean =>
  node.operation === OperationTypeNode.QUERY ||
  (node.operation === OperationTypeNode.MUTATION && method === 'POST');

/**
 * Executes the operations of cached documents, without the steps and hooks of Yoga for other documents,
 * which take longer than a small operation. Where Yoga is needed it neither parses nor validates them again.
 */
export function useCachedDocuments(
  documents: Documents,
  execute: Execute,
  { store, changes, authenticate }: Context,
): Plugin<CallContext & Exchange, CallContext & Exchange> {
  return {
    onParams: ({ params: { query: text, operationName }, request, context, setParamsHandler }) => {
      const document = text && documents.find(text, context.caller);
      const operation = document && operationOf(document, operationName);
      if (!operation || !isAllowed(operation, request.method)) return;
      setParamsHandler(
        ({ params, context: { req, res, requestLog, recipient, caller, arrivedAt } }) => {
          addOperation(requestLog, operation);
          return execute({
            schema,
            operation,
            variables: params.variables ?? {},
            context: {
              req,
              res,
              requestLog,
              recipient,
              caller,
              arrivedAt,
              store,
              changes,
              authenticate,
            },
          });
        },
      );
    },
    onParse: ({ params: { source }, context: { caller }, setParsedDocument }) => {
      const document = documents.find(String(source), caller);
      if (document) setParsedDocument(document);
    },
    onValidate: ({ params: { documentAST }, setResult }) => {
      if (documents.has(documentAST)) setResult([]);
    },
  };
}
