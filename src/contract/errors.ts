/** What one code means: the HTTP status that goes with it, and when a caller meets it. */
interface ErrorKind {
  readonly status: number;
  readonly description: string;
}

/** Every error a caller can get, in GraphQL and REST alike. */
export const ERRORS = {
  INVALID_ID: {
    status: 400,
    description: 'An identifier is not the decimal digits of an int64 (0 to 9223372036854775807).',
  },
  INVALID_INPUT: { status: 400, description: 'A value breaks a rule; the message says which.' },
  INVALID_CURSOR: {
    status: 400,
    description: 'A cursor is not one of a list with this order.',
  },
  BAD_REQUEST: { status: 400, description: 'The request itself is malformed.' },
  GRAPHQL_PARSE_FAILED: { status: 400, description: 'The document is not GraphQL.' },
  GRAPHQL_VALIDATION_FAILED: {
    status: 400,
    description: 'The document does not fit the schema.',
  },
  DOCUMENT_TOO_LARGE: {
    status: 400,
    description:
      'The document is too long, too deep, or has more of something than is allowed; the message says what.',
  },
  QUERY_TOO_COSTLY: { status: 400, description: 'The operation costs more than is allowed.' },
  ANSWER_TOO_LARGE: { status: 400, description: 'The answer would be larger than is allowed.' },
  PERSISTED_QUERY_ID_REQUIRED: {
    status: 400,
    description: 'Only trusted documents run here: send the id of one.',
  },
  PERSISTED_QUERY_NOT_SUPPORTED: { status: 400, description: 'Documents are not kept here.' },
  UNAUTHENTICATED: { status: 401, description: 'There is no token, or it is not valid here.' },
  FORBIDDEN: { status: 403, description: 'The caller may not do this.' },
  PERSISTED_QUERY_NOT_FOUND: { status: 404, description: 'No document is known by this id.' },
  NOT_FOUND: { status: 404, description: 'Nothing is served at this path.' },
  CATEGORY_NOT_FOUND: { status: 404, description: 'There is no such category.' },
  PET_NOT_FOUND: { status: 404, description: 'There is no such pet.' },
  ORDER_NOT_FOUND: { status: 404, description: 'There is no such order.' },
  METHOD_NOT_ALLOWED: { status: 405, description: 'The path does not answer this method.' },
  NOT_ACCEPTABLE: { status: 406, description: 'No answer has a media type that is accepted.' },
  REQUEST_TIMEOUT: { status: 408, description: 'The request took too long to arrive.' },
  CATEGORY_IN_USE: { status: 409, description: 'The category has pets.' },
  PET_IN_USE: { status: 409, description: 'The pet has orders.' },
  PET_NOT_AVAILABLE: { status: 409, description: 'The pet is not AVAILABLE.' },
  INSUFFICIENT_STOCK: { status: 409, description: 'There are fewer units than asked for.' },
  STOCK_LIMIT_EXCEEDED: {
    status: 409,
    description: 'The stock would pass 2147483647 units.',
  },
  STALE_INVENTORY: { status: 409, description: 'The stock is not the expected one.' },
  IDEMPOTENCY_CONFLICT: {
    status: 409,
    description: 'The idempotency key was used for another operation or input.',
  },
  ORDER_COMPLETE: {
    status: 409,
    description: 'The order is complete: it can be neither cancelled nor rescheduled.',
  },
  GONE: { status: 410, description: 'The operation ended at its sunset; its links say what now.' },
  PAYLOAD_TOO_LARGE: { status: 413, description: 'The body is larger than the limit.' },
  URI_TOO_LONG: { status: 414, description: 'The URL is longer than the limit.' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, description: 'The body has to be application/json.' },
  MISDIRECTED_REQUEST: {
    status: 421,
    description: 'This gateway is for its own machine alone, as localhost.',
  },
  HEADERS_TOO_LARGE: { status: 431, description: 'The headers are larger than the limit.' },
  INTERNAL_SERVER_ERROR: { status: 500, description: 'A bug: the log has the cause.' },
  SERVICE_UNAVAILABLE: {
    status: 503,
    description: 'What the answer takes can not be had in time: try again.',
  },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERRORS;

/** One bad value: where it stands in the arguments, and what is wrong with it. */
export interface Issue {
  readonly path: readonly string[];
  readonly message: string;
}

/** The only error made on purpose: its message is for the caller. Anything else thrown is a bug. */
export class StoreError extends Error {
  readonly code: ErrorCode;
  readonly status: number;

  constructor(code: ErrorCode, message: string = ERRORS[code].description, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.status = ERRORS[code].status;
  }

  /** What else the head of an HTTP answer says that is nothing but this error. */
  get headers(): Readonly<Record<string, string>> {
    return {};
  }

  /** The specification's error object. */
  toJSON(): { code: ErrorCode; message: string; status: number } {
    return { code: this.code, message: this.message, status: this.status };
  }
}

/** An error about values the caller gave. */
export class InputError extends StoreError {
  readonly issues: readonly Issue[];

  constructor(code: ErrorCode, issues: readonly Issue[]) {
    super(code, issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join(' '));
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

/** Nobody knows who calls; `problem` is what is wrong with the token, if there is one. */
export class Unauthenticated extends StoreError {
  readonly #problem: string | undefined;

  constructor(problem?: string) {
    super('UNAUTHENTICATED', problem ?? 'A token is needed, as in Authorization: Bearer token.');
    this.#problem = problem;
  }

  /** The challenge of RFC 6750 §3, without an error where there is no token. */
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

export class PetNotFound extends StoreError {
  constructor(id: bigint) {
    super('PET_NOT_FOUND', `There is no pet ${id}.`);
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
    super('PET_IN_USE', `Pet ${id} has orders: it can't be deleted.`);
  }
}

export class PetNotAvailable extends StoreError {
  constructor(id: bigint) {
    super('PET_NOT_AVAILABLE', `Pet ${id} is not available.`);
  }
}

export class InsufficientStock extends StoreError {
  readonly available: number;

  constructor(petId: bigint, available: number) {
    super('INSUFFICIENT_STOCK', `Pet ${petId} has ${available} units in stock.`);
    this.available = available;
  }
}

export class StockLimitExceeded extends StoreError {
  constructor(orderId: bigint) {
    super(
      'STOCK_LIMIT_EXCEEDED',
      `With the units of order ${orderId} given back, the stock would pass 2147483647.`,
    );
  }
}

export class OrderComplete extends StoreError {
  constructor(id: bigint) {
    super('ORDER_COMPLETE', `Order ${id} is complete: it can't be changed any more.`);
  }
}

export class StaleInventory extends StoreError {
  readonly available: number;

  constructor(petId: bigint, available: number) {
    super('STALE_INVENTORY', `Pet ${petId} has ${available} units in stock by now.`);
    this.available = available;
  }
}

export class IdempotencyConflict extends StoreError {
  constructor(key: string) {
    super(
      'IDEMPOTENCY_CONFLICT',
      `The idempotency key "${key}" was used for another operation or input.`,
    );
  }
}
