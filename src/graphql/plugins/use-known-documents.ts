import { OperationTypeNode } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import type { Caller } from '../../auth/scopes.ts';
import type { Context, Exchange } from '../../context.ts';
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
 * Executes the operations of documents that are known to be valid, without the steps and hooks of Yoga
 * for other documents, which take longer than a small operation.
 */
export function useKnownDocuments(
  { findValid }: Documents,
  execute: Execute,
  { store, changes, authenticate }: Context,
): Plugin<object, Exchange & { caller: Caller }> {
  return {
    onParams: ({ params: { query: text, operationName }, request, setParamsHandler }) => {
      const document = text && findValid(text);
      const operation = document && operationOf(document, operationName);
      if (!operation || !isAllowed(operation, request.method)) return;
      setParamsHandler(({ params, context: { req, res, requestLog, caller } }) => {
        addOperation(requestLog, operation);
        const context = { req, res, requestLog, caller, store, changes, authenticate };
        return execute({ schema, operation, variables: params.variables ?? {}, context });
      });
    },
  };
}
