/** The HTTP status of an error code, and when the gateway returns it. */
interface ErrorKind {
  readonly status: number;
  readonly description: string;
}

/** Every error code of GraphQL and REST. */
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
  ANSWER_TOO_LARGE: { status: 400, description: 'The response would be larger than the limit.' },
  PERSISTED_QUERY_ID_REQUIRED: {
    status: 400,
    description: 'This gateway executes trusted documents only. Send the id of one.',
  },
  PERSISTED_QUERY_NOT_SUPPORTED: { status: 400, description: 'This gateway stores no documents.' },
  UNAUTHENTICATED: { status: 401, description: 'The token is missing or invalid.' },
  FORBIDDEN: { status: 403, description: 'The caller is not allowed to do this.' },
  PERSISTED_QUERY_NOT_FOUND: { status: 404, description: 'No persisted document has this id.' },
  NOT_FOUND: { status: 404, description: 'No resource exists at this path.' },
  CATEGORY_NOT_FOUND: { status: 404, description: 'The category does not exist.' },
  PET_NOT_FOUND: { status: 404, description: 'The pet does not exist.' },
  ORDER_NOT_FOUND: { status: 404, description: 'The order does not exist.' },
  METHOD_NOT_ALLOWED: { status: 405, description: 'The path does not support this method.' },
  NOT_ACCEPTABLE: { status: 406, description: 'No accepted media type is available.' },
  REQUEST_TIMEOUT: { status: 408, description: 'The request took too long to arrive.' },
  CATEGORY_IN_USE: { status: 409, description: 'The category has pets, so it cannot be deleted.' },
  PET_IN_USE: { status: 409, description: 'The pet has orders, so it cannot be deleted.' },
  PET_NOT_AVAILABLE: { status: 409, description: 'The status of the pet is not AVAILABLE.' },
  INSUFFICIENT_STOCK: { status: 409, description: 'The stock has too few units.' },
  STOCK_LIMIT_EXCEEDED: { status: 409, description: 'The stock would exceed 2147483647 units.' },
  STALE_INVENTORY: { status: 409, description: 'The stock does not have the expected quantity.' },
  IDEMPOTENCY_CONFLICT: {
    status: 409,
    description: 'The idempotency key was already used for another operation or input.',
  },
  ORDER_COMPLETE: {
    status: 409,
    description: 'The order is complete, so it cannot be cancelled or rescheduled.',
  },
  GONE: {
    status: 410,
    description: 'The operation ended on its sunset date. See its Link header.',
  },
  PAYLOAD_TOO_LARGE: { status: 413, description: 'The request body is larger than the limit.' },
  URI_TOO_LONG: { status: 414, description: 'The URL is longer than the limit.' },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    description: 'The request body must be application/json, without a Content-Encoding.',
  },
  MISDIRECTED_REQUEST: { status: 421, description: 'The Host must be localhost or an IP address.' },
  HEADERS_TOO_LARGE: { status: 431, description: 'The request headers are larger than the limit.' },
  INTERNAL_SERVER_ERROR: { status: 500, description: 'Unexpected error. The log has the cause.' },
  SERVICE_UNAVAILABLE: { status: 503, description: 'The service is unavailable. Try again later.' },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERRORS;

/** An invalid value: its path in the arguments, and why it is invalid. */
export interface Issue {
  readonly path: readonly string[];
  readonly message: string;
}

/** An error for the caller, with a message that is safe to return. Any other error is a bug. */
export class StoreError extends Error {
  readonly code: ErrorCode;
  readonly status: number;

  constructor(code: ErrorCode, message: string = ERRORS[code].description, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.status = ERRORS[code].status;
  }

  /** Headers of an HTTP response that consists of this error. */
  get headers(): Readonly<Record<string, string>> {
    return {};
  }

  /** Returns the error object of the specification. */
  toJSON(): { code: ErrorCode; message: string; status: number } {
    return { code: this.code, message: this.message, status: this.status };
  }
}

/** An error about values in the request. The message is about the first ten, however many there are. */
export class InputError extends StoreError {
  readonly issues: readonly Issue[];

  constructor(code: ErrorCode, issues: readonly Issue[]) {
    const texts = issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    super(code, texts.slice(0, 10).join(' '));
    this.issues = issues;
  }
}

export class InvalidId extends InputError {
  constructor(issues: readonly Issue[]) {
    super('INVALID_ID', issues);
  }
}

export class InvalidInput extends InputError {
  constructor(issues: readonly Issue[]) {
    super('INVALID_INPUT', issues);
  }
}

export class InvalidCursor extends InputError {
  constructor(issues: readonly Issue[]) {
    super('INVALID_CURSOR', issues);
  }
}

/** The token is missing or, if there is a `problem`, invalid. */
export class Unauthenticated extends StoreError {
  readonly #problem: string | undefined;

  constructor(problem?: string) {
    super(
      'UNAUTHENTICATED',
      problem ?? 'A token is required. Send the header Authorization: Bearer <token>.',
    );
    this.#problem = problem;
  }

  /** The challenge of RFC 6750 §3, which has no error if there is no token. */
  override get headers(): Readonly<Record<string, string>> {
    const challenge = this.#problem
      ? `Bearer error="invalid_token", error_description="${this.#problem}"`
      : 'Bearer realm="pet store"';
    return { 'WWW-Authenticate': challenge };
  }
}

/** The caller's token lacks a scope. */
export class Forbidden extends StoreError {
  readonly scope: string;

  constructor(scope: string) {
    super('FORBIDDEN', `The token lacks the scope "${scope}".`);
    this.scope = scope;
  }

  override get headers(): Readonly<Record<string, string>> {
    return { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${this.scope}"` };
  }
}

export class CategoryNotFound extends StoreError {
  constructor(id: bigint) {
    super('CATEGORY_NOT_FOUND', `There is no category ${id}.`);
  }
}

/** An error that may be about one line of several: `line` is its index, from 0; otherwise null. */
class LineError extends StoreError {
  readonly line: number | null;

  constructor(code: ErrorCode, message: string, line: number | null) {
    super(code, message);
    this.line = line;
  }
}

export class PetNotFound extends LineError {
  constructor(id: bigint, line: number | null = null) {
    super('PET_NOT_FOUND', `There is no pet ${id}.`, line);
  }
}

export class OrderNotFound extends StoreError {
  constructor(id: bigint) {
    super('ORDER_NOT_FOUND', `There is no order ${id}.`);
  }
}

export class CategoryInUse extends StoreError {
  constructor(id: bigint) {
    super('CATEGORY_IN_USE', `Category ${id} has pets: move or delete them first.`);
  }
}

export class PetInUse extends StoreError {
  constructor(id: bigint) {
    super('PET_IN_USE', `Pet ${id} has orders, so it cannot be deleted.`);
  }
}

export class PetNotAvailable extends LineError {
  constructor(id: bigint, line: number | null = null) {
    super('PET_NOT_AVAILABLE', `Pet ${id} is not available.`, line);
  }
}

export class InsufficientStock extends LineError {
  readonly available: number;

  constructor(petId: bigint, available: number, line: number | null = null) {
    super('INSUFFICIENT_STOCK', `Pet ${petId} has ${available} units in stock.`, line);
    this.available = available;
  }
}

export class StockLimitExceeded extends StoreError {
  constructor(units: string) {
    super('STOCK_LIMIT_EXCEEDED', `With ${units}, the stock would exceed 2147483647 units.`);
  }
}

export class OrderComplete extends StoreError {
  constructor(id: bigint) {
    super('ORDER_COMPLETE', `Order ${id} is complete, so it cannot be changed.`);
  }
}

export class StaleInventory extends StoreError {
  readonly available: number;

  constructor(petId: bigint, available: number) {
    super('STALE_INVENTORY', `Pet ${petId} now has ${available} units in stock.`);
    this.available = available;
  }
}

export class IdempotencyConflict extends StoreError {
  constructor(key: string) {
    super(
      'IDEMPOTENCY_CONFLICT',
      `The idempotency key "${key}" was already used for another operation or input.`,
    );
  }
}
