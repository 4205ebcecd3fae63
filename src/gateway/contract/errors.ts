import { type ErrorCode, ERRORS } from './error-codes.ts';

/** An invalid value: its path in the arguments, and why it is invalid. */
export interface Issue {
  readonly path: readonly string[];
  readonly message: string;
}

// Most failovers and restarts take longer than a second, but not all.
const RETRY_AFTER_SECONDS = '1';

/** Returns what was thrown as an error; anything can be thrown. */
export const toError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown));

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
    return this.code === 'SERVICE_UNAVAILABLE' ? { 'Retry-After': RETRY_AFTER_SECONDS } : {};
  }

  /** Whether each response with it needs a line in the log. */
  get isLogged(): boolean {
    return this.status >= 500;
  }

  /** Returns the error object of the specification. */
  toJSON(): { code: ErrorCode; message: string; status: number } {
    return { code: this.code, message: this.message, status: this.status };
  }
}

/** The gateway can't serve a request now. That is expected under load or in a failover, so it is not logged. */
export class Unavailable extends StoreError {
  constructor(message: string) {
    super('SERVICE_UNAVAILABLE', message);
  }

  override get isLogged(): boolean {
    return false;
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
