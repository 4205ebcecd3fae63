import { type ExecutionResult, GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import { toStoreError } from '../database/failure.ts';
import { type ErrorCode, ERRORS, InputError, StoreError } from '../errors.ts';
import type { Log } from '../log.ts';

const isCode = (code: unknown): code is ErrorCode => typeof code === 'string' && code in ERRORS;

/** Where in the document, and in the answer, something went wrong. */
type Place = Pick<GraphQLError, 'nodes' | 'path'>;

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
const PLACE = /.* at "([^"]+)"; /s;

function variablePath(message: string): string[] | undefined {
  const variable = VARIABLE.exec(message)?.[1];
  if (!variable) return undefined;
  return (
    PLACE.exec(message)?.[1]
      ?.split(/[.[\]]+/)
      .filter(Boolean) ?? [variable]
  );
}

function codeOf(error: GraphQLError): ErrorCode {
  const { code, http } = error.extensions;
  if (http?.status === 405) return 'METHOD_NOT_ALLOWED';
  if (isCode(code)) return code;
  return VARIABLE.test(error.message) || error.path ? 'INVALID_INPUT' : 'BAD_REQUEST';
}

/** An error about the request, with its code, status and the place of a bad variable. */
function toRequestError(error: GraphQLError): GraphQLError {
  const code = codeOf(error);
  const { status } = ERRORS[code];
  const isValue = code === 'INVALID_INPUT' || code === 'INVALID_ID';
  const path = isValue && !error.path ? variablePath(error.message) : undefined;
  return new GraphQLError(error.message, {
    nodes: error.nodes ?? null,
    source: error.source ?? null,
    positions: error.positions ?? null,
    path: error.path ?? null,
    extensions: {
      code,
      status,
      ...(path && { issues: [{ path, message: error.message }] }),
      ...(!error.path && { http: error.extensions.http ?? { status } }),
    },
  });
}

const TOO_DEEP = 'The document is nested too deep.';

/** graphql-js reads documents by recursion, so that a deep one runs out of stack. */
const isTooDeep = (error: unknown): boolean =>
  error instanceof RangeError && error.message.includes('call stack');

/** An error of the store, with what it tells besides code and status. */
function toGraphqlError(error: StoreError, { nodes, path }: Place): GraphQLError {
  const { code, status, message } = error;
  return new GraphQLError(message, {
    nodes: nodes ?? null,
    path: path ?? null,
    extensions: {
      code,
      status,
      ...(error instanceof InputError && { issues: error.issues }),
      ...(!path && { http: { status } }),
    },
  });
}

/**
 * The error a caller gets for anything that went wrong: an error of the store or about the request
 * as it is, anything else as INTERNAL_SERVER_ERROR or SERVICE_UNAVAILABLE, its cause logged.
 */
function toClientError(error: GraphQLError, log: Log): GraphQLError {
  if (isAboutRequest(error)) return toRequestError(error);
  const cause = error.originalError;
  const storeError = isTooDeep(cause)
    ? new StoreError('BAD_REQUEST', TOO_DEEP)
    : toStoreError(cause);
  if (storeError.status >= 500) {
    log.error({ err: storeError.cause ?? storeError, path: error.path }, storeError.message);
  }
  return toGraphqlError(storeError, error);
}

/** The only place where errors leave GraphQL: whatever was thrown, it goes by toClientError. */
export function toClientResult(result: ExecutionResult, log: Log): ExecutionResult {
  if (!result.errors) return result;
  return { ...result, errors: result.errors.map((error) => toClientError(error, log)) };
}

/** Answers errors as callers are to see them. */
export function useClientErrors(log: Log): Plugin {
  return {
    onResultProcess: (event) => {
      if ('errors' in event.result) event.setResult(toClientResult(event.result, log));
    },
    onResponse: (event) => {
      const { status, headers } = event.response;
      if (status !== 406) return;
      headers.set('content-type', 'application/json; charset=utf-8');
      const body = JSON.stringify(new StoreError('NOT_ACCEPTABLE'));
      event.setResponse(new event.fetchAPI.Response(body, { status, headers }));
    },
  };
}
