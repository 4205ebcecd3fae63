import { type ASTNode, type ExecutionResult, GraphQLError } from 'graphql';

import { type ErrorCode, ERRORS, isErrorCode } from '../contract/error-codes.ts';
import { InputError, type StoreError } from '../contract/errors.ts';
import { toStoreError } from '../database/errors.ts';
import type { Log } from '../telemetry/log.ts';
import { logCause, addErrorCode, type RequestLog } from '../telemetry/request-log.ts';

// graphql-js quotes such a value in the message. With a path it is a value of the store, not the caller's.
const UNREPRESENTABLE = / cannot represent /;

/** Whether an error comes from GraphQL itself: it is about the request and can be sent to the caller. */
function isAboutRequest(error: GraphQLError): boolean {
  const { originalError } = error;
  if (error.path && UNREPRESENTABLE.test(error.message)) return false;
  if (!originalError) return true;
  return originalError instanceof GraphQLError && isAboutRequest(originalError);
}

// graphql-js has the path of an invalid variable only in its message: … at "input.items[0].name"; …
const VARIABLE = /^Variable "\$(\w+)"/;
// What graphql-js says of a value that does not fit.
const VALUE = /^(?:Variable "\$|Argument ")/;
// Anchored; otherwise it would search the rest of a long message from each character.
const VARIABLE_PATH = /^.* at "([^"]+)"; /s;
// Messages quote values of callers, and each of many messages may quote the whole value.
const MAX_MESSAGE_LENGTH = 1000;

function variablePath(message: string): string[] | undefined {
  const variable = VARIABLE.exec(message)?.[1];
  if (!variable) return undefined;
  return (
    VARIABLE_PATH.exec(message)?.[1]
      ?.split(/[.[\]]+/)
      .filter(Boolean) ?? [variable]
  );
}

/** Removes the middle of a long message: the place and the reason are at its ends. */
const shorten = (message: string): string =>
  message.length > MAX_MESSAGE_LENGTH
    ? `${message.slice(0, MAX_MESSAGE_LENGTH / 2)} … ${message.slice(-MAX_MESSAGE_LENGTH / 2)}`.toWellFormed()
    : message;

function codeOf(error: GraphQLError): ErrorCode {
  const { code, http } = error.extensions;
  if (http?.status === 405) return 'METHOD_NOT_ALLOWED';
  if (isErrorCode(code)) return code;
  return VALUE.test(error.message) || error.path ? 'INVALID_INPUT' : 'BAD_REQUEST';
}

// graphql-js 16 has no option to leave out its suggestions.
const SUGGESTION =
  / Did you mean (?:the enum value |to use an inline fragment on )?"[^"]+"(?:,? (?:or )?"[^"]+")*\?$/;

/** Creates the client's error for an error about the request, with the path of an invalid variable. */
function toRequestError(error: GraphQLError, introspection: boolean): GraphQLError {
  const message = shorten(introspection ? error.message : error.message.replace(SUGGESTION, ''));
  const code = codeOf(error);
  const isAboutValue = code === 'INVALID_INPUT' || code === 'INVALID_ID';
  const path = isAboutValue && !error.path ? variablePath(error.message) : undefined;
  return new GraphQLError(message, {
    nodes: error.nodes ?? null,
    source: error.source ?? null,
    positions: error.positions ?? null,
    path: error.path ?? null,
    extensions: {
      code,
      status: ERRORS[code].status,
      ...(path && { issues: [{ path, message }] }),
    },
  });
}

/** Wraps an error as an error of an execution, until toClientResult converts it to a client's error. */
export const toExecutionError = (originalError: Error, node?: ASTNode): GraphQLError =>
  new GraphQLError(originalError.message, { originalError, nodes: node ?? null });

/** Creates the client's error for an error of the store. */
function toGraphqlError(error: StoreError, { nodes, path }: GraphQLError): GraphQLError {
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
  readonly error: StoreError;
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
      error: toStoreError(error.originalError),
      path: error.path,
      fields: 0,
    };
    cause.fields += 1;
    causes.set(thrown, cause);
  }
  return causes;
}

function logCauses(log: Log, requestLog: RequestLog, causes: Iterable<Cause>): void {
  const logged = [...causes].filter(({ error }) => error.isLogged);
  for (const { error, path, fields } of logged.slice(0, MAX_CAUSES)) {
    logCause(log, requestLog, error, { path, fields });
  }
  if (logged.length <= MAX_CAUSES) return;
  const more = logged.length - MAX_CAUSES;
  log.error({ requestId: requestLog.id }, `${more} more errors of this request are not logged.`);
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

/** The response to a caller. */
export interface ClientResult {
  readonly body: ExecutionResult;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

interface ClientResultOptions {
  /** Whether messages may suggest names of the schema. */
  readonly introspection: boolean;
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
  { introspection, isJson, log, requestLog }: ClientResultOptions,
): ClientResult {
  if (!result.errors) return { body: result, status: 200, headers: {} };
  const causes = findCauses(result.errors);
  logCauses(log, requestLog, causes.values());
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
    return cause ? toGraphqlError(cause.error, error) : toRequestError(error, introspection);
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
