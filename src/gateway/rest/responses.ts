import type { Config } from '../config/config.ts';
import { type ErrorCodes, withGatewayErrors } from '../contract/error-codes.ts';
import { GatewayError, Unauthenticated } from '../contract/gateway-error.ts';
import type { RestOperation, Store } from '../store.ts';
import { lifecycleHeaders } from './rest-operation.ts';
import { resourcesOf } from './schemas.ts';

/** Headers by name, each with an example. */
type Headers = Readonly<Record<string, string>>;

/** Errors that any request may get. */
const COMMON_ERRORS: readonly string[] = [
  'BAD_REQUEST',
  'REQUEST_TIMEOUT',
  'HEADERS_TOO_LARGE',
  'URI_TOO_LONG',
  'INTERNAL_SERVER_ERROR',
  'SERVICE_UNAVAILABLE',
];

const ACCESS_ERRORS: readonly string[] = ['UNAUTHENTICATED', 'FORBIDDEN'];

const COMMON_HEADERS: Headers = { 'X-Request-Id': '4bf92f3577b34da6a3ce929d0e0e4736' };

const DESCRIPTIONS: Headers = {
  'X-Request-Id':
    'The id of the request in the log: the `X-Request-Id` or the trace id of the `traceparent` that ' +
    'the caller sent, or a new id.',
  Link: 'Links to the documentation, to the successor and to the next page, if any (RFC 8288).',
  Deprecation: 'The date of the deprecation, in seconds since 1970 (RFC 9745).',
  Sunset: 'The date on which the operation may stop working (RFC 8594).',
  ETag: 'The version of the resource. Send it as `If-None-Match` in the next request.',
  'Cache-Control': 'The response may be stored, but must be revalidated before each use.',
  'Retry-After': 'How long to wait before trying again, in seconds (RFC 9110 §10.2.3).',
  'WWW-Authenticate': 'How to authenticate, or what the token lacks (RFC 6750).',
};

export function errorsOf(operation: RestOperation, { auth, checksHost }: Config): string[] {
  const codes: string[] = [...operation.errors, ...COMMON_ERRORS];
  if (auth) codes.push('UNAUTHENTICATED');
  if (auth && !auth.readIsOpen) codes.push('FORBIDDEN');
  if (operation.lifecycle.deprecatedSince) codes.push('GONE');
  if (checksHost) codes.push('MISDIRECTED_REQUEST');
  return codes;
}

const toHeaders = (headers: Headers, required = true): object =>
  Object.fromEntries(
    Object.entries(headers).map(([name, example]) => [
      name,
      { description: DESCRIPTIONS[name], example, required, schema: { type: 'string' } },
    ]),
  );

/**
 * Returns the headers that error responses have in addition to the headers of every response. None of them is marked as
 * required, because node:http may reject a request before its path is known.
 */
function errorHeaders(codes: readonly string[], lifecycle: Headers): object {
  const has = (group: readonly string[]): boolean => codes.some((code) => group.includes(code));
  const challenge = has(ACCESS_ERRORS) ? new Unauthenticated().headers : {};
  const retry = has(['SERVICE_UNAVAILABLE']) ? new GatewayError('SERVICE_UNAVAILABLE').headers : {};
  return toHeaders({ ...lifecycle, ...challenge, ...retry }, false);
}

/** Returns the response for all errors with the same status. Clients distinguish them by their codes. */
const toErrorResponse = (
  codes: readonly string[],
  kinds: ErrorCodes,
  lifecycle: Headers,
): object => ({
  description: codes.map((code) => kinds[code]?.description).join(' '),
  headers: { ...toHeaders(COMMON_HEADERS), ...errorHeaders(codes, lifecycle) },
  content: {
    'application/json': {
      schema: { $ref: '#/components/schemas/Error' },
      examples: Object.fromEntries(
        codes.map((code) => [
          code,
          { value: { code, message: kinds[code]?.description, status: kinds[code]?.status } },
        ]),
      ),
    },
  },
});

export function toResponses(operation: RestOperation, store: Store, config: Config): object {
  const { result } = operation;
  const kinds = withGatewayErrors(store.errorCodes);
  const lifecycle = lifecycleHeaders(operation, config);
  const headers = toHeaders({ ...COMMON_HEADERS, ...lifecycle, ...result.headers });
  const codes = errorsOf(operation, config);
  const statuses = new Set(codes.flatMap((code) => kinds[code]?.status ?? []));
  return {
    200: {
      description: result.description,
      headers,
      content: {
        'application/json': {
          schema: { $ref: `#/components/schemas/${result.resource}` },
          example: resourcesOf(store)[result.resource]?.example,
        },
      },
    },
    ...('ETag' in result.headers && {
      304: { description: 'The resource is unchanged.', headers },
    }),
    ...Object.fromEntries(
      [...statuses].map((status) => {
        const group = codes.filter((code) => kinds[code]?.status === status);
        return [status, toErrorResponse(group, kinds, lifecycle)];
      }),
    ),
  };
}
