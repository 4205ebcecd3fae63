import { type ASTNode, type ExecutionResult, GraphQLError } from 'graphql';

import { type ErrorCode, ERRORS, isErrorCode } from '../contract/error-codes.ts';
import { InputError, InvalidId, InvalidInput, GatewayError } from '../contract/gateway-error.ts';
import { toGatewayError } from '../database/database-errors.ts';
import type { Log } from '../telemetry/log.ts';
import { logCause, addErrorCode, type RequestLog } from '../telemetry/request-log.ts';

// Messages quote values of callers, and each of many messages may quote the whole value.
const MAX_MESSAGE_LENGTH = 1000;

/** Removes the middle of a long message: the place and the reason are at its ends. */
const shorten = (message: string): string =>
  message.length > MAX_MESSAGE_LENGTH
    ? `${message.slice(0, MAX_MESSAGE_LENGTH / 2)} … ${message.slice(-MAX_MESSAGE_LENGTH / 2)}`.toWellFormed()
    : message;

/**
 * Whether an error is about the request, and can be sent to the caller. One with a path is not: arguments
 * are checked before the execution, so that it comes from a resolver, or is about a value of the store.
 */
const isAboutRequest = ({ path, originalError }: GraphQLError): boolean =>
  !path && (!originalError || originalError instanceof GraphQLError);

function codeOf({ extensions: { code, http } }: GraphQLError): ErrorCode {
  if (http?.status === 405) return 'METHOD_NOT_ALLOWED';
  return isErrorCode(code) ? code : 'BAD_REQUEST';
}

/** Creates the client's error for an error about the request. */
function toRequestError(error: GraphQLError): GraphQLError {
  const code = codeOf(error);
  return new GraphQLError(shorten(error.message), {
    nodes: error.nodes ?? null,
    source: error.source ?? null,
    positions: error.positions ?? null,
    extensions: { code, status: ERRORS[code].status },
  });
}

/** Wraps an error as an error of an execution, until toClientResult converts it to a client's error. */
export const toExecutionError = (originalError: Error, node?: ASTNode): GraphQLError =>
  new GraphQLError(originalError.message, { originalError, nodes: node ?? null });

/** Creates the error of a value that graphql-js does not accept; `path` leads to one in a variable. */
export function toInputError(
  { message, nodes, extensions: { code } }: GraphQLError,
  node: ASTNode,
  path?: readonly string[],
): GraphQLError {
  const text = shorten(message);
  if (!path) return toExecutionError(new GatewayError('INVALID_INPUT', text), nodes?.[0] ?? node);
  const Invalid = code === 'INVALID_ID' ? InvalidId : InvalidInput;
  return toExecutionError(new Invalid([{ path, message: text }]), node);
}

/** Creates the client's error for an error of the store. */
function toGraphqlError(error: GatewayError, { nodes, path }: GraphQLError): GraphQLError {
  const { code, status, message } = error;
  return new GraphQLError(message, {
    nodes: nodes ?? null,
    path: path ?? null,
    extensions: {
      code,
      status,
      ...(error instanceof InputError && { issues: error.issues }),
    },
  });
}

// One failed statement can fail ten thousand fields; callers and the log get the first errors only.
const MAX_ERRORS = 100;
const MAX_CAUSES = 10;

/** An error, and how many fields failed because of it. */
interface Cause {
  readonly error: GatewayError;
  /** The path of the first field. */
  readonly path: GraphQLError['path'];
  fields: number;
}

/** Returns the error that a resolver threw; many fields can fail with the same one. */
const thrownErrorOf = (error: GraphQLError): Error => error.originalError ?? error;

/** Returns the causes of a result's errors, each once, by the error that was thrown. */
function findCauses(errors: readonly GraphQLError[]): Map<Error, Cause> {
  const causes = new Map<Error, Cause>();
  for (const error of errors) {
    if (isAboutRequest(error)) continue;
    const thrown = thrownErrorOf(error);
    const cause = causes.get(thrown) ?? {
      error: toGatewayError(thrown),
      path: error.path,
      fields: 0,
    };
    cause.fields += 1;
    causes.set(thrown, cause);
  }
  return causes;
}

/** What an error changes in the status and the headers of the HTTP response. */
interface HttpHead {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Set by Yoga for a document that can't be executed: as application/json it has the status 200. */
  readonly spec?: boolean;
}

function headOf(error: GraphQLError, cause: Cause | undefined): HttpHead {
  if (error.path) return { headers: cause?.error.headers ?? {} };
  if (cause) return { status: cause.error.status, headers: cause.error.headers };
  return error.extensions.http ?? { status: ERRORS[codeOf(error)].status };
}

interface ClientResultOptions {
  /** Whether the response is application/json (GraphQL over HTTP §6.4.1). */
  readonly isJson: boolean;
  readonly log: Log;
  readonly requestLog: RequestLog;
}

/**
 * Converts a result to what its caller may see, and logs the causes of its errors. It returns the first
 * 100 errors; `extensions.omittedErrors` is the number of the others.
 */
export function toClientResult(
  result: ExecutionResult,
  { isJson, log, requestLog }: ClientResultOptions,
): { body: ExecutionResult; status: number; headers: Readonly<Record<string, string>> } {
  if (!result.errors) return { body: result, status: 200, headers: {} };
  const causes = findCauses(result.errors);
  const logged = [...causes.values()].filter(({ error }) => error.isLogged);
  for (const { error, path, fields } of logged.slice(0, MAX_CAUSES)) {
    logCause(log, requestLog, error, { path, fields });
  }
  const more = logged.length - MAX_CAUSES;
  if (more > 0) log.error({ requestId: requestLog.id }, `${more} more errors are not logged.`);
  for (const error of result.errors) {
    addErrorCode(requestLog, causes.get(thrownErrorOf(error))?.error.code ?? codeOf(error));
  }
  const firstErrors = result.errors.slice(0, MAX_ERRORS);
  const heads = firstErrors.map((error) => headOf(error, causes.get(thrownErrorOf(error))));
  // A write that was done must not be requested again.
  const isRepeatable = Object.values(result.data ?? {}).every((value) => value === null);
  const statuses = heads.map(({ status = 200, spec }) => (isJson && spec ? 200 : status));
  const errors = firstErrors.map((error) => {
    const cause = causes.get(thrownErrorOf(error));
    return cause ? toGraphqlError(cause.error, error) : toRequestError(error);
  });
  const omittedErrors = result.errors.length - errors.length;
  const extensions = omittedErrors > 0 && { extensions: { ...result.extensions, omittedErrors } };
  return {
    body: { ...result, errors, ...extensions },
    status: Math.max(200, ...statuses),
    headers: isRepeatable ? Object.assign({}, ...heads.map(({ headers }) => headers)) : {},
  };
}

/** Converts a result that is not an HTTP response of its own: one of a stream, or of a WebSocket. */
export const toClientBody = (
  result: ExecutionResult,
  options: Omit<ClientResultOptions, 'isJson'>,
): ExecutionResult => toClientResult(result, { ...options, isJson: false }).body;
