import type { Config } from '../config/config.ts';
import { type ErrorCodes, withGatewayErrors } from '../contract/error-codes.ts';
import { Forbidden, GatewayError, Unauthenticated } from '../contract/gateway-error.ts';
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

const COMMON_HEADERS: Headers = {
  'X-Request-Id': '4bf92f3577b34da6a3ce929d0e0e4736',
  'Cache-Control': 'no-store',
};

const TAG_HEADERS: Headers = {
  ETag: 'W/"3d-QtwTo+1ee1ReuILwo4lZiZROY1c"',
  'Cache-Control': 'no-cache',
};

/** The headers of errors by status, in addition to those of every response. */
const ERROR_HEADERS: Readonly<Record<number, Headers>> = {
  401: new Unauthenticated().headers,
  403: new Forbidden('read').headers,
  503: new GatewayError('SERVICE_UNAVAILABLE').headers,
};

const DESCRIPTIONS: Headers = {
  'X-Request-Id':
    'The id of the request in the log: the `X-Request-Id` or the trace id of the `traceparent` that ' +
    'the caller sent, or a new id.',
  Link: 'Links to the documentation, to the successor and to the next page, if any (RFC 8288).',
  Deprecation: 'The date of the deprecation, in seconds since 1970 (RFC 9745).',
  Sunset: 'The date on which the operation may stop working (RFC 8594).',
  ETag: 'The version of the resource. Send it as `If-None-Match` in the next request.',
  'Cache-Control':
    '`no-cache`: The response may be stored, but must be revalidated before each use. `no-store`: It must not be stored.',
  'Retry-After': 'How long to wait before trying again, in seconds (RFC 9110 §10.2.3).',
  'WWW-Authenticate': 'How to authenticate, or what the token lacks (RFC 6750).',
};

/** Returns the codes of all errors that an operation may return. */
function errorsOf({ errors, lifecycle }: RestOperation, { auth, checksHost }: Config): string[] {
  const codes = [...errors, ...COMMON_ERRORS];
  if (auth) codes.push('UNAUTHENTICATED');
  if (auth && !auth.readIsOpen) codes.push('FORBIDDEN');
  if (lifecycle.deprecatedSince) codes.push('GONE');
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

/** Returns the response for all errors with the same status. Clients distinguish them by their codes. */
const toErrorResponse = (status: number, kinds: ErrorCodes, lifecycle: Headers): object => ({
  description: Object.values(kinds)
    .map(({ description }) => description)
    .join(' '),
  headers: {
    ...toHeaders(COMMON_HEADERS),
    // Not required, because node:http may reject a request before its path is known.
    ...toHeaders({ ...lifecycle, ...ERROR_HEADERS[status] }, false),
  },
  content: {
    'application/json': {
      schema: { $ref: '#/components/schemas/Error' },
      examples: Object.fromEntries(
        Object.entries(kinds).map(([code, { description: message }]) => [
          code,
          { value: { code, message, status } },
        ]),
      ),
    },
  },
});

/** Returns the responses of an operation by status. */
export function toResponses(operation: RestOperation, store: Store, config: Config): object {
  const { resource, description, hasTag } = operation.result;
  const lifecycle = lifecycleHeaders(operation, config);
  const headers = toHeaders({ ...COMMON_HEADERS, ...lifecycle, ...(hasTag && TAG_HEADERS) });
  const content = {
    'application/json': {
      schema: { $ref: `#/components/schemas/${resource}` },
      example: resourcesOf(store)[resource]?.example,
    },
  };
  const kinds = withGatewayErrors(store.errorCodes);
  const byStatus = new Map<number, ErrorCodes>();
  for (const code of errorsOf(operation, config)) {
    const kind = kinds[code];
    if (kind) byStatus.set(kind.status, { ...byStatus.get(kind.status), [code]: kind });
  }
  return {
    200: { description, headers, content },
    ...(hasTag && { 304: { description: 'The resource is unchanged.', headers } }),
    ...Object.fromEntries(
      Array.from(byStatus, ([status, group]) => [
        status,
        toErrorResponse(status, group, lifecycle),
      ]),
    ),
  };
}
