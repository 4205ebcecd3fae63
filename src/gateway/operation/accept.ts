import {
  type DocumentNode,
  type ExecutionResult,
  type GraphQLError,
  type GraphQLSchema,
  OperationTypeNode,
} from 'graphql';

import { requireScope } from '../auth/caller.ts';
import type { Config } from '../config/config.ts';
import { GatewayError, MethodNotAllowed } from '../contract/gateway-error.ts';
import { estimate } from './accept/cost.ts';
import { usageOf } from './accept/usage.ts';
import { takeDeclared } from './accept/variables.ts';
import type { Documents } from './documents.ts';
import { type Operation, operationOf } from './operation.ts';
import type { Call, RequestContext } from './request.ts';
import { coerceVariables } from './steps/graphql-js.ts';
import { rejectCostly } from './steps/limit-cost.ts';

/** Adds the operation to the log. @throws GatewayError if the document has no such operation */
function takeOperation(
  { params, isSafe, requestLog }: RequestContext,
  document: DocumentNode,
): Operation {
  const operation = operationOf(document, params.operationName);
  if (!operation) {
    throw new GatewayError('BAD_REQUEST', 'Could not determine what operation to execute.');
  }
  const type = operation.node.operation;
  // Logs the operation even if the request is rejected later.
  requestLog.operationType = type;
  if (operation.name !== undefined) requestLog.operationName = operation.name;
  if (isSafe && type === OperationTypeNode.MUTATION) {
    throw new MethodNotAllowed('POST', 'A mutation requires the method POST.');
  }
  return operation;
}

/** The functions that Yoga's plugins wrap. */
interface Enveloped {
  readonly parse: (text: string) => DocumentNode;
  readonly validate: (schema: GraphQLSchema, document: DocumentNode) => readonly GraphQLError[];
}

/** Whether a request was accepted. */
export const isAccepted = (accepted: Call | ExecutionResult): accepted is Call =>
  'estimate' in accepted;

/**
 * Creates the function that accepts a request with a valid document that does not cost too much: it returns the call to
 * execute, or the result that rejects the request. It never waits. If the variables fit, the document is added to
 * `documents`, and is neither parsed nor validated again. Arguments are checked later, when the call is executed.
 * @throws GatewayError, GraphQLError
 */
export function createAccept({ limits }: Config, documents: Documents) {
  return (
    request: RequestContext,
    text: string,
    { parse, validate }: Enveloped,
    known?: DocumentNode,
  ): Call | ExecutionResult => {
    const { schema, caller, params } = request;
    const document = known ?? parse(text);
    const operation = takeOperation(request, document);
    // Before validation, so that a rejection is cheap. A mutation requires its scope when it is resolved
    // (schema/mutations.ts).
    if (usageOf(schema, operation).reads) requireScope(caller, 'read');
    const errors = known ? [] : validate(schema, document);
    if (errors.length > 0) return { errors };
    const variables = takeDeclared(operation, params.variables ?? {}, limits);
    // Still the object that the plugins have got.
    const call: Call = Object.assign(request, {
      operation,
      variables,
      estimate: estimate(schema, operation, variables),
    });
    const rejection = rejectCostly(call, limits);
    if (rejection) return rejection;
    // With variables that don't fit, the operation won't be executed.
    if (!known && coerceVariables(call)) documents.add(text, document, caller);
    return call;
  };
}
