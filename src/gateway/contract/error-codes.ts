/** The HTTP status of each error code, and when it is returned. */
export type ErrorCodes = Readonly<
  Record<string, { readonly status: number; readonly description: string }>
>;

/** The error codes of the gateway, of GraphQL and REST. A store has others. */
export const ERRORS = {
  INVALID_ID: {
    status: 400,
    description: 'An id is not an integer from 0 to 9223372036854775807 in decimal digits.',
  },
  INVALID_INPUT: { status: 400, description: 'A value is invalid. The message says why.' },
  INVALID_CURSOR: {
    status: 400,
    description: 'The cursor does not belong to a list in this order.',
  },
  BAD_REQUEST: { status: 400, description: 'The request is malformed.' },
  GRAPHQL_PARSE_FAILED: { status: 400, description: 'The document has a syntax error.' },
  GRAPHQL_VALIDATION_FAILED: { status: 400, description: 'The document violates the schema.' },
  DOCUMENT_TOO_LARGE: {
    status: 400,
    description:
      'The document exceeds a limit, such as its length or its depth. The message names the limit.',
  },
  QUERY_TOO_COSTLY: { status: 400, description: 'The cost of the operation exceeds the limit.' },
  RESPONSE_TOO_LARGE: { status: 400, description: 'The response would be larger than the limit.' },
  PERSISTED_QUERY_ID_REQUIRED: {
    status: 400,
    description: 'This gateway executes trusted documents only. Send the id of one.',
  },
  PERSISTED_QUERY_NOT_SUPPORTED: { status: 400, description: 'This gateway stores no documents.' },
  UNAUTHENTICATED: { status: 401, description: 'The token is missing or invalid.' },
  FORBIDDEN: { status: 403, description: 'The caller is not allowed to do this.' },
  PERSISTED_QUERY_NOT_FOUND: { status: 404, description: 'No persisted document has this id.' },
  NOT_FOUND: { status: 404, description: 'No resource exists at this path.' },
  METHOD_NOT_ALLOWED: { status: 405, description: 'The path does not support this method.' },
  NOT_ACCEPTABLE: { status: 406, description: 'No accepted media type is available.' },
  REQUEST_TIMEOUT: { status: 408, description: 'The request took too long to arrive.' },
  IDEMPOTENCY_CONFLICT: {
    status: 409,
    description: 'The idempotency key was already used for another operation or input.',
  },
  GONE: {
    status: 410,
    description: 'The operation ended on its sunset date. See its Link header.',
  },
  CURSOR_EXPIRED: {
    status: 410,
    description:
      'The changes after this cursor are no longer kept. Read the rows again, and follow their changes from then on.',
  },
  PAYLOAD_TOO_LARGE: { status: 413, description: 'The request body is larger than the limit.' },
  URI_TOO_LONG: { status: 414, description: 'The URL is longer than the limit.' },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    description: 'The request body must be application/json, without a Content-Encoding.',
  },
  MISDIRECTED_REQUEST: { status: 421, description: 'The Host must be localhost or an IP address.' },
  SLOW_SUBSCRIBER: {
    status: 429,
    description:
      'The changes come faster than the subscriber reads them. Subscribe again after the last cursor.',
  },
  TOO_MANY_STREAMS: { status: 429, description: 'The caller has too many subscriptions.' },
  HEADERS_TOO_LARGE: { status: 431, description: 'The request headers are larger than the limit.' },
  INTERNAL_SERVER_ERROR: { status: 500, description: 'Unexpected error. The log has the cause.' },
  SERVICE_UNAVAILABLE: { status: 503, description: 'The service is unavailable. Try again later.' },
  OUTCOME_UNKNOWN: {
    status: 503,
    description:
      'The connection to the database was lost before it confirmed the write, which may have been made. ' +
      'Repeat the request with the same idempotency key; without one, read later what is stored.',
  },
} as const satisfies ErrorCodes;

export type ErrorCode = keyof typeof ERRORS;

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(ERRORS, code);

/** Returns the codes of the gateway and of a store, by their status. */
export const withGatewayErrors = (codes: ErrorCodes): ErrorCodes =>
  Object.fromEntries(
    Object.entries({ ...ERRORS, ...codes }).toSorted(([, a], [, b]) => a.status - b.status),
  );
