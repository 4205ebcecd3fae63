import { type ASTNode, type ExecutionResult, GraphQLError } from 'graphql';

import { type ErrorCode, isErrorCode } from '../contract/error-codes.ts';
import {
  GatewayError,
  InputError,
  InvalidId,
  InvalidInput,
  type Issue,
  shorten,
} from '../contract/gateway-error.ts';
import { toGatewayError } from '../database/database-errors.ts';
import type { Log } from '../telemetry/log.ts';
import { addError, logCause, type RequestLog } from '../telemetry/request-log.ts';

/**
 * Whether an error is about the request and can be sent to the caller. Errors with a path are not about the request:
 * arguments are checked before execution, so an error with a path comes from a resolver or is about a stored value.
 */
const isAboutRequest = ({ path, originalError }: GraphQLError): boolean =>
  !path && (!originalError || originalError instanceof GraphQLError);

/** Returns the error for the caller: the error of the request or of the resolver, or a generic error. */
function toOwnError(error: GraphQLError): GatewayError {
  if (!isAboutRequest(error)) return toGatewayError(error.originalError ?? error);
  const { code } = error.extensions;
  return new GatewayError(isErrorCode(code) ? code : 'BAD_REQUEST', error.message);
}

/**
 * Wraps an error in a GraphQLError, which toClientResult converts for the client. A GraphQLError is returned as it is,
 * because it may have its own position in the document.
 */
export const toExecutionError = (error: Error, node?: ASTNode): GraphQLError =>
  error instanceof GraphQLError
    ? error
    : new GraphQLError(error.message, { originalError: error, nodes: node ?? null });

/** Creates the error for a value that graphql-js rejects; the issue has its path, if that is known. */
export function toInputError(
  { message, nodes, extensions: { code } }: GraphQLError,
  node: ASTNode,
  issue: Issue | undefined,
): GraphQLError {
  if (!issue)
    return toExecutionError(new GatewayError('INVALID_INPUT', message), nodes?.[0] ?? node);
  const Invalid = code === 'INVALID_ID' ? InvalidId : InvalidInput;
  return toExecutionError(new Invalid([{ ...issue, message: shorten(issue.message) }]), node);
}

// If one statement fails, ten thousand fields can fail with it, so callers and the log get only the first errors.
const MAX_ERRORS = 100;
// The maximum length of all paths together. A path repeats the aliases of the document, which can be long.
const MAX_PATHS_LENGTH = 200_000;
const MAX_CAUSES = 10;

/** An error, and how many fields failed because of it. */
interface Cause {
  readonly error: GatewayError;
  /** The path of the first field that failed. */
  readonly path: GraphQLError['path'];
  fields: number;
}

/** Returns each error with its cause. Errors that wrap the same thrown error share a cause. */
function withCauses(errors: readonly GraphQLError[]): (readonly [GraphQLError, Cause])[] {
  const causes = new Map<Error, Cause>();
  return errors.map((error) => {
    const thrown = error.originalError ?? error;
    const cause = causes.get(thrown) ?? { error: toOwnError(error), path: error.path, fields: 0 };
    cause.fields += 1;
    causes.set(thrown, cause);
    return [error, cause];
  });
}

/** Returns the errors for the caller: the first ones, as long as their paths are not too long in total. */
function firstOf<Found extends readonly [GraphQLError, Cause]>(found: readonly Found[]): Found[] {
  let length = 0;
  return found.slice(0, MAX_ERRORS).filter(([{ path }]) => {
    length += path?.join('.').length ?? 0;
    return length <= MAX_PATHS_LENGTH;
  });
}

function logCauses(causes: ReadonlySet<Cause>, log: Log, requestLog: RequestLog): void {
  for (const { error } of causes) addError(requestLog, error);
  const logged = [...causes].filter(({ error }) => error.isLogged);
  for (const { error, path, fields } of logged.slice(0, MAX_CAUSES)) {
    logCause(log, requestLog, error, { path, fields });
  }
  const more = logged.length - MAX_CAUSES;
  if (more > 0) log.error({ requestId: requestLog.id }, `${more} more errors were not logged.`);
}

/** How an error changes the status and headers of the HTTP response. */
interface HttpHead {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

// In application/json, the result of a document that can't be executed has status 200 (GraphQL over HTTP §6.4.1).
const OF_DOCUMENT: readonly string[] = [
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
] satisfies ErrorCode[];

function headOf({ path }: GraphQLError, cause: GatewayError, isJson: boolean): HttpHead {
  const { headers, status, code } = cause;
  return path || (isJson && OF_DOCUMENT.includes(code)) ? { headers } : { headers, status };
}

function toGraphqlError(error: GraphQLError, cause: GatewayError): GraphQLError {
  const { code, status, message } = cause;
  const { nodes, source, positions, path, extensions } = error;
  const isInput = cause instanceof InputError;
  const issues = isInput ? cause.issues : extensions['issues'];
  const hasMore = isInput && cause.issueCount > cause.issues.length;
  return new GraphQLError(message, {
    nodes: nodes ?? null,
    source: source ?? null,
    positions: positions ?? null,
    path: path ?? null,
    extensions: {
      code,
      status,
      ...(issues !== undefined && { issues }),
      ...(hasMore && { issueCount: cause.issueCount }),
    },
  });
}

interface ClientResultOptions {
  /** Whether the response is application/json (GraphQL over HTTP §6.4.1). */
  readonly isJson: boolean;
  readonly log: Log;
  readonly requestLog: RequestLog;
}

/**
 * Converts a result to what its caller may see, and logs the causes of its errors. Only the first 100 errors, or fewer if
 * their paths are long, are returned; `extensions.omittedErrors` counts the rest.
 */
export function toClientResult(
  result: ExecutionResult,
  { isJson, log, requestLog }: ClientResultOptions,
): { body: ExecutionResult; status: number; headers: Readonly<Record<string, string>> } {
  if (!result.errors) return { body: result, status: 200, headers: {} };
  const found = withCauses(result.errors);
  logCauses(new Set(found.map(([, cause]) => cause)), log, requestLog);
  const first = firstOf(found);
  const heads = first.map(([error, cause]) => headOf(error, cause.error, isJson));
  const omittedErrors = found.length - first.length;
  // A write that succeeded must not be retried, so its response has no Retry-After.
  const isRepeatable = Object.values(result.data ?? {}).every((value) => value === null);
  return {
    body: {
      ...result,
      errors: first.map(([error, cause]) => toGraphqlError(error, cause.error)),
      ...(omittedErrors > 0 && { extensions: { ...result.extensions, omittedErrors } }),
    },
    status: Math.max(200, ...heads.map(({ status = 200 }) => status)),
    headers: isRepeatable ? Object.assign({}, ...heads.map(({ headers }) => headers)) : {},
  };
}
