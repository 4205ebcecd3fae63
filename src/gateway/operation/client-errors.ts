import { type ASTNode, type ExecutionResult, GraphQLError } from 'graphql';

import { isErrorCode } from '../contract/error-codes.ts';
import { GatewayError, InputError, toError } from '../contract/gateway-error.ts';
import { toGatewayError } from '../database/database-errors.ts';
import type { Log } from '../telemetry/log.ts';
import { addError, logCause, type RequestLog } from '../telemetry/request-log.ts';

/** Wraps what was thrown for toClientResult. A GraphQLError may have its own position, and is returned as it is. */
export function toExecutionError(thrown: unknown, node?: ASTNode): GraphQLError {
  if (thrown instanceof GraphQLError) return thrown;
  const error = toError(thrown);
  return new GraphQLError(error.message, { originalError: error, nodes: node ?? null });
}

function causeOf(error: GraphQLError): GatewayError {
  const { path, originalError, message, extensions } = error;
  // Arguments are checked before execution, so an error with a path comes from a resolver or is about a stored value.
  const isAboutRequest = !path && (!originalError || originalError instanceof GraphQLError);
  if (!isAboutRequest) return toGatewayError(originalError ?? error);
  return new GatewayError(isErrorCode(extensions.code) ? extensions.code : 'BAD_REQUEST', message);
}

// If one statement fails, ten thousand fields can fail with it. A path repeats aliases of the document, so that the paths of
// a hundred errors have at most five million characters.
const MAX_ERRORS = 100;

/** Returns the error for the client. Its `originalError`, which is not sent, is the cause. */
function toClientError(error: GraphQLError, cause: GatewayError): GraphQLError {
  const { code, status, message } = cause;
  const { nodes, source, positions, path } = error;
  const { issues = [], issueCount = 0 } = cause instanceof InputError ? cause : {};
  return new GraphQLError(message, {
    nodes: nodes ?? null,
    source: source ?? null,
    positions: positions ?? null,
    path: path ?? null,
    originalError: cause,
    extensions: {
      code,
      status,
      ...(issues.length > 0 && { issues }),
      ...(issueCount > issues.length && { issueCount }),
    },
  });
}

/**
 * Converts a result with errors to what its caller may see, and logs their causes. Only the first 100 errors are returned;
 * `extensions.omittedErrors` counts the rest.
 */
export function toClientResult(
  result: ExecutionResult,
  log: Log,
  requestLog: RequestLog,
): ExecutionResult {
  const { errors: all = [] } = result;
  const first = all.slice(0, MAX_ERRORS);
  const omittedErrors = all.length - first.length;
  // Many fields can fail because of one thrown error, which is logged once.
  const causes = new Map<Error, GatewayError>();
  const errors = first.map((error) => {
    const thrown = error.originalError ?? error;
    const known = causes.get(thrown);
    if (known) return toClientError(error, known);
    const cause = causeOf(error);
    causes.set(thrown, cause);
    addError(requestLog, cause);
    logCause(log, requestLog, cause, { path: error.path });
    return toClientError(error, cause);
  });
  return {
    ...result,
    errors,
    ...(omittedErrors > 0 && { extensions: { ...result.extensions, omittedErrors } }),
  };
}

/** Returns the result of an operation that could not be executed, as its caller may see it. */
export const toFailure = (thrown: unknown, log: Log, requestLog: RequestLog): ExecutionResult =>
  toClientResult({ errors: [toExecutionError(thrown)] }, log, requestLog);
