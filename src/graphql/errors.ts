import { type ExecutionResult, GraphQLError } from 'graphql';

import { toStoreError } from '../database/errors.ts';
import { type ErrorCode, ERRORS, InputError, type StoreError } from '../contract/errors.ts';
import type { Log } from '../telemetry/log.ts';
import { logCause, addErrorCode, type RequestLog } from '../telemetry/request-log.ts';

const isCode = (code: unknown): code is ErrorCode => typeof code === 'string' && code in ERRORS;

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

/** Creates the client's error for one about the request, with its code and the place of a bad variable. */
function toRequestError(error: GraphQLError, introspection: boolean): GraphQLError {
  const message = shorten(introspection ? error.message : error.message.replace(SUGGESTION, ''));
  const code = codeOf(error);
  const isValue = code === 'INVALID_INPUT' || code === 'INVALID_ID';
  const path = isValue && !error.path ? variablePath(error.message) : undefined;
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

/** Wraps an error as GraphQL passes it on, until toClientResult turns it into a client's error. */
export const toExecutionError = (originalError: Error): GraphQLError =>
  new GraphQLError(originalError.message, { originalError });

/** Creates the client's error for one of the store. */
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

/** How an error changes the head of the HTTP response. */
interface HttpHead {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Set by Yoga for a document that can't be executed: application/json reports it with 200. */
  readonly spec?: boolean;
}

function headOf(error: GraphQLError, cause: Cause | undefined): HttpHead {
  if (error.path) return {};
  if (cause) return { status: cause.error.status, headers: cause.error.headers };
  return error.extensions.http ?? { status: ERRORS[codeOf(error)].status };
}

/** A result as its caller receives it. */
export interface ClientResult {
  readonly body: ExecutionResult;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

interface ClientResultOptions {
  /** Whether callers may know the schema. */
  readonly introspection: boolean;
  /** Whether the response is application/json (GraphQL over HTTP §6.4.1). */
  readonly isJson: boolean;
  readonly log: Log;
  readonly requestLog: RequestLog;
}

/**
 * Turns a result into what its caller may see; errors leave GraphQL in no other way. Of more than 100
 * errors the first 100 are returned, and `extensions.omittedErrors` counts the others.
 */
export function toClientResult(
  result: ExecutionResult,
  { introspection, isJson, log, requestLog }: ClientResultOptions,
): ClientResult {
  if (!result.errors) return { body: result, status: 200, headers: {} };
  const causes = findCauses(result.errors);
  logCauses(log, requestLog, causes.values());
  for (const error of result.errors) {
    addErrorCode(requestLog, causes.get(thrownAs(error))?.error.code ?? codeOf(error));
  }
  const kept = result.errors.slice(0, MAX_ERRORS);
  const heads = kept.map((error) => headOf(error, causes.get(thrownAs(error))));
  const statuses = heads.map(({ status = 200, spec }) => (isJson && spec ? 200 : status));
  const errors = kept.map((error) => {
    const cause = causes.get(thrownAs(error));
    return cause ? toGraphqlError(cause.error, error) : toRequestError(error, introspection);
  });
  const omittedErrors = result.errors.length - errors.length;
  const extensions = omittedErrors > 0 && { extensions: { ...result.extensions, omittedErrors } };
  return {
    body: { ...result, errors, ...extensions },
    status: Math.max(...statuses),
    headers: Object.assign({}, ...heads.map(({ headers }) => headers)),
  };
}
