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

/** An error code of a store: its HTTP status, and when it is returned. */
export interface ErrorKind {
  readonly code: string;
  readonly status: number;
  readonly description: string;
}

/** An error for the caller, with a message that is safe to return. Any other error is a bug. */
export class GatewayError extends Error {
  readonly code: string;
  readonly status: number;

  constructor(kind: ErrorCode | ErrorKind, message?: string, cause?: unknown) {
    const { code, status, description } =
      typeof kind === 'string' ? { code: kind, ...ERRORS[kind] } : kind;
    super(message ?? description, { cause });
    this.code = code;
    this.status = status;
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
  toJSON(): { code: string; message: string; status: number } {
    return { code: this.code, message: this.message, status: this.status };
  }
}

/** A class of errors of a store that mutations return as data. */
// The arguments of the constructors differ.
// oxlint-disable-next-line typescript/no-explicit-any
export interface ErrorType<Args extends readonly unknown[] = any[], Fields = object> {
  readonly kind: ErrorKind;
  readonly name: string;
  new (...args: Args): GatewayError & Fields;
}

/**
 * Creates the class of the errors of a store with a code: BookNotFound for BOOK_NOT_FOUND. `describe` returns their
 * message, and their other fields, from what they are about.
 */
export function errorOf<
  Args extends readonly unknown[],
  Fields extends { readonly message: string },
>(
  code: string,
  status: number,
  description: string,
  describe: (...args: Args) => Fields,
): ErrorType<Args, Fields> {
  const kind: ErrorKind = { code, status, description };
  class StoreError extends GatewayError {
    static readonly kind = kind;

    constructor(...args: Args) {
      const { message, ...fields } = describe(...args);
      super(kind, message);
      Object.assign(this, fields);
    }
  }
  const name = code
    .toLowerCase()
    .replaceAll(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
  Object.defineProperty(StoreError, 'name', { value: name });
  // The fields are those that `describe` returns.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return StoreError as unknown as ErrorType<Args, Fields>;
}

/** The gateway can't serve a request now. That is expected under load or in a failover, so it is not logged. */
export class Unavailable extends GatewayError {
  constructor(message: string) {
    super('SERVICE_UNAVAILABLE', message);
  }

  override get isLogged(): boolean {
    return false;
  }
}

/** An error about values in the request. The message is about the first ten, however many there are. */
export class InputError extends GatewayError {
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
export class Unauthenticated extends GatewayError {
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
      : 'Bearer realm="gateway"';
    return { 'WWW-Authenticate': challenge };
  }
}

/** The caller's token lacks a scope. */
export class Forbidden extends GatewayError {
  readonly scope: string;

  constructor(scope: string) {
    super('FORBIDDEN', `The token lacks the scope "${scope}".`);
    this.scope = scope;
  }

  override get headers(): Readonly<Record<string, string>> {
    return { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${this.scope}"` };
  }
}

export class IdempotencyConflict extends GatewayError {
  constructor(key: string) {
    super(
      'IDEMPOTENCY_CONFLICT',
      `The idempotency key "${key}" was already used for another operation or input.`,
    );
  }
}
