/** The HTTP status of each error code, and a description of when it is returned. */
export type ErrorCodes = Readonly<
  Record<string, { readonly status: number; readonly description: string }>
>;

/** The gateway's own error codes, for GraphQL and REST. A store adds more. */
export const ERRORS = {
  INVALID_ID: {
    status: 400,
    description:
      'An id is not a decimal integer from 0 to 9223372036854775807, or a nodeId is not valid.',
  },
  INVALID_INPUT: { status: 400, description: 'A value is invalid. The message says why.' },
  INVALID_CURSOR: {
    status: 400,
    description: 'The cursor is invalid, or belongs to another sort order.',
  },
  BAD_REQUEST: { status: 400, description: 'The request is malformed.' },
  GRAPHQL_PARSE_FAILED: { status: 400, description: 'The document has a syntax error.' },
  GRAPHQL_VALIDATION_FAILED: { status: 400, description: 'The document violates the schema.' },
  DOCUMENT_TOO_LARGE: {
    status: 400,
    description:
      'The document is too large, for example too long or nested too deeply. The message says what ' +
      'is too large.',
  },
  QUERY_TOO_COSTLY: { status: 400, description: 'The cost of the operation exceeds the limit.' },
  RESPONSE_TOO_LARGE: { status: 400, description: 'The response would be larger than the limit.' },
  PERSISTED_QUERY_ID_REQUIRED: {
    status: 400,
    description: 'This gateway only executes trusted documents. Send a document id.',
  },
  PERSISTED_QUERY_NOT_SUPPORTED: {
    status: 400,
    description: 'This gateway does not store documents.',
  },
  UNAUTHENTICATED: { status: 401, description: 'The token is missing or invalid.' },
  FORBIDDEN: { status: 403, description: 'The caller is not allowed to do this.' },
  PERSISTED_QUERY_NOT_FOUND: { status: 404, description: 'No persisted document has this id.' },
  NOT_FOUND: { status: 404, description: 'No resource exists at this path.' },
  METHOD_NOT_ALLOWED: { status: 405, description: 'The path does not support this method.' },
  NOT_ACCEPTABLE: {
    status: 406,
    description: 'The response is not available in any media type that the request accepts.',
  },
  REQUEST_TIMEOUT: { status: 408, description: 'The request took too long to arrive.' },
  IDEMPOTENCY_CONFLICT: {
    status: 409,
    description: 'The idempotency key was already used for another operation or input.',
  },
  GONE: {
    status: 410,
    description:
      'The operation was removed on its sunset date. The Link header names its successor.',
  },
  CURSOR_EXPIRED: {
    status: 410,
    description:
      'Changes after this cursor may have been deleted. Read the last cursor of the change log, ' +
      'reload the data, then continue after that cursor.',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    description: 'The request body is larger than the limit.',
  },
  URI_TOO_LONG: { status: 414, description: 'A part of the path is longer than 100 characters.' },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    description: 'The request body must be application/json.',
  },
  MISDIRECTED_REQUEST: {
    status: 421,
    description: 'The Host header must be localhost or an IP address.',
  },
  SLOW_SUBSCRIBER: {
    status: 429,
    description: 'The subscriber is too slow. Resubscribe with the last cursor that you received.',
  },
  TOO_MANY_STREAMS: {
    status: 429,
    description:
      'The caller has too many open subscriptions, or too many operations on one WebSocket, or its ' +
      'subscriptions would cost too much.',
  },
  HEADERS_TOO_LARGE: { status: 431, description: 'The request headers are too large or too many.' },
  INTERNAL_SERVER_ERROR: {
    status: 500,
    description: "An unexpected error occurred. Its cause is in the gateway's log.",
  },
  SERVICE_UNAVAILABLE: { status: 503, description: 'The service is unavailable. Try again later.' },
  OUTCOME_UNKNOWN: {
    status: 503,
    description:
      'The database connection was lost, or the time limit was reached, before the write was ' +
      'confirmed. The write may have been applied. If it had an idempotency key, repeat the ' +
      'request with that key. Otherwise, check later whether the stored data has changed.',
  },
} as const satisfies ErrorCodes;

export type ErrorCode = keyof typeof ERRORS;

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(ERRORS, code);

/** Returns the codes of the gateway and a store, sorted by status. */
export const withGatewayErrors = (codes: ErrorCodes): ErrorCodes =>
  Object.fromEntries(
    Object.entries({ ...ERRORS, ...codes }).toSorted(([, a], [, b]) => a.status - b.status),
  );
