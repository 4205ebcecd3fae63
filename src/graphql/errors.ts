import { type ExecutionResult, GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import type { Config } from '../config/config.ts';
import { toStoreError } from '../database/errors.ts';
import { type ErrorCode, ERRORS, InputError, StoreError } from '../contract/errors.ts';
import type { Log } from '../telemetry/log.ts';
import { logCause, addErrorCode, type RequestLog } from '../telemetry/request-log.ts';

/** Whether callers may know the schema. */
type SchemaVisibility = Pick<Config, 'introspection'>;

const isCode = (code: unknown): code is ErrorCode => typeof code === 'string' && code in ERRORS;

/** Where in the document, and in the answer, something went wrong. */
type ErrorLocation = Pick<GraphQLError, 'nodes' | 'path'>;

// graphql-js says so, with the value, of what the store holds too; of the caller's without a path.
const UNREPRESENTABLE = / cannot represent /;

/** An error of GraphQL itself, which is about the request and safe to show. */
function isAboutRequest(error: GraphQLError): boolean {
  const { originalError } = error;
  if (error.path && UNREPRESENTABLE.test(error.message)) return false;
  if (!originalError) return true;
  return originalError instanceof GraphQLError && isAboutRequest(originalError);
}

// graphql-js tells the place of a bad variable in its message alone: … at "input.items[0].name"; …
const VARIABLE = /^Variable "\$(\w+)"/;
// Anchored: from every place of a long message it would search the whole rest.
const PLACE = /^.* at "([^"]+)"; /s;
// Messages quote what callers sent, each of many the whole of it.
const MAX_MESSAGE = 1000;

function variablePath(message: string): string[] | undefined {
  const variable = VARIABLE.exec(message)?.[1];
  if (!variable) return undefined;
  return (
    PLACE.exec(message)?.[1]
      ?.split(/[.[\]]+/)
      .filter(Boolean) ?? [variable]
  );
}

/** Leaves out the middle of a long message: where it is from and why are at its ends. */
const shorten = (message: string): string =>
  message.length > MAX_MESSAGE
    ? `${message.slice(0, MAX_MESSAGE / 2)} … ${message.slice(-MAX_MESSAGE / 2)}`.toWellFormed()
    : message;

function codeOf(error: GraphQLError): ErrorCode {
  const { code, http } = error.extensions;
  if (http?.status === 405) return 'METHOD_NOT_ALLOWED';
  if (isCode(code)) return code;
  return VARIABLE.test(error.message) || error.path ? 'INVALID_INPUT' : 'BAD_REQUEST';
}

// graphql-js 16 has no option to leave out what it guesses was meant.
const SUGGESTION =
  / Did you mean (?:the enum value |to use an inline fragment on )?"[^"]+"(?:,? (?:or )?"[^"]+")*\?$/;

/** An error about the request, with its code, status and the place of a bad variable. */
function toRequestError(error: GraphQLError, { introspection }: SchemaVisibility): GraphQLError {
  const told = introspection ? error.message : error.message.replace(SUGGESTION, '');
  const message = shorten(told);
  const code = codeOf(error);
  const { status } = ERRORS[code];
  const isValue = code === 'INVALID_INPUT' || code === 'INVALID_ID';
  const path = isValue && !error.path ? variablePath(error.message) : undefined;
  return new GraphQLError(message, {
    nodes: error.nodes ?? null,
    source: error.source ?? null,
    positions: error.positions ?? null,
    path: error.path ?? null,
    extensions: {
      code,
      status,
      ...(path && { issues: [{ path, message }] }),
      ...(!error.path && { http: error.extensions.http ?? { status } }),
    },
  });
}

/** An error as GraphQL passes it on until it is told to the caller. */
export const toExecutionError = (originalError: Error): GraphQLError =>
  new GraphQLError(originalError.message, { originalError });

/** An error of the store, with what it tells besides code and status. */
function toGraphqlError(error: StoreError, { nodes, path }: ErrorLocation): GraphQLError {
  const { code, status, message, headers } = error;
  return new GraphQLError(message, {
    nodes: nodes ?? null,
    path: path ?? null,
    extensions: {
      code,
      status,
      ...(error instanceof InputError && { issues: error.issues }),
      ...(!path && { http: { status, headers } }),
    },
  });
}

// One failed statement can fail ten thousand fields: a caller and a log need no more than these.
const MAX_ERRORS = 100;
const MAX_CAUSES = 10;

/** Something that failed, and the fields that failed with it. */
interface Cause {
  readonly error: StoreError;
  /** The path of the first field. */
  readonly path: GraphQLError['path'];
  fields: number;
}

/** What was thrown, which one statement throws to many fields. */
const thrownAs = (error: GraphQLError): Error => error.originalError ?? error;

/** Finds what made the fields of a result fail, each once, by what was thrown. */
function findCauses(errors: readonly GraphQLError[]): Map<Error, Cause> {
  const causes = new Map<Error, Cause>();
  for (const error of errors) {
    if (isAboutRequest(error)) continue;
    const thrown = thrownAs(error);
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
  const logged = [...causes].filter(({ error }) => error.status >= 500);
  for (const { error, path, fields } of logged.slice(0, MAX_CAUSES)) {
    logCause(log, requestLog, error, { path, fields });
  }
  if (logged.length <= MAX_CAUSES) return;
  const more = logged.length - MAX_CAUSES;
  log.error(
    { requestId: requestLog.id },
    `The request met ${more} more errors that are not logged.`,
  );
}

/**
 * Turns a result into what its caller may see; errors leave GraphQL in no other way. Of more than 100
 * errors the first 100 are in the answer, and `extensions.omittedErrors` counts the others.
 */
export function toClientResult(
  result: ExecutionResult,
  shown: SchemaVisibility,
  log: Log,
  requestLog: RequestLog,
): ExecutionResult {
  if (!result.errors) return result;
  const causes = findCauses(result.errors);
  logCauses(log, requestLog, causes.values());
  const codes = result.errors.map(
    (error) => causes.get(thrownAs(error))?.error.code ?? codeOf(error),
  );
  for (const code of new Set(codes)) addErrorCode(requestLog, code);
  const errors = result.errors.slice(0, MAX_ERRORS).map((error) => {
    const cause = causes.get(thrownAs(error));
    return cause ? toGraphqlError(cause.error, error) : toRequestError(error, shown);
  });
  const omittedErrors = result.errors.length - errors.length;
  if (omittedErrors === 0) return { ...result, errors };
  return { ...result, errors, extensions: { ...result.extensions, omittedErrors } };
}

/** Answers errors as callers are to see them. */
export function useClientErrors(
  shown: SchemaVisibility,
  log: Log,
): Plugin<object, { requestLog: RequestLog }> {
  return {
    onResultProcess: (event) => {
      const { result, serverContext } = event;
      if (!('errors' in result)) return;
      event.setResult(toClientResult(result, shown, log, serverContext.requestLog));
    },
    onResponse: (event) => {
      const { status, headers } = event.response;
      if (status !== 406) return;
      headers.set('content-type', 'application/json; charset=utf-8');
      addErrorCode(event.serverContext.requestLog, 'NOT_ACCEPTABLE');
      const body = JSON.stringify(new StoreError('NOT_ACCEPTABLE'));
      event.setResponse(new event.fetchAPI.Response(body, { status, headers }));
    },
  };
}
