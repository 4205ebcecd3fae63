import { type ErrorCode, ERRORS } from './error-codes.ts';

/** What can be wrong with a value in the arguments of a mutation. */
export const ISSUE_CODES = {
  REQUIRED: 'The value is missing, null or blank.',
  INVALID_ID: ERRORS.INVALID_ID.description,
  TOO_SHORT: 'The text or the list is too short.',
  TOO_LONG: 'The text or the list is too long.',
  TOO_SMALL: 'The value is too small, or too early.',
  TOO_LARGE: 'The value is too large, or too late.',
  INVALID_VALUE: 'The value is invalid for another reason, which the message explains.',
} as const;

export type IssueCode = keyof typeof ISSUE_CODES;

export const isIssueCode = (code: unknown): code is IssueCode =>
  typeof code === 'string' && Object.hasOwn(ISSUE_CODES, code);

/** An invalid value: its path in the arguments, and why it is invalid. */
export interface Issue {
  readonly path: readonly string[];
  readonly message: string;
  /** What is wrong with it, if it is in the arguments of a mutation. */
  readonly code?: IssueCode;
  /** The index of the line that it is in, if the argument is a list. */
  readonly line?: number;
}

// Most failovers and restarts take longer than a second, but not all.
const RETRY_AFTER_SECONDS = '1';

/** Returns what was thrown as an error; anything can be thrown. */
export const toError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown));

/** An error code of a store: its HTTP status, and when it is returned. */
interface ErrorKind {
  readonly code: string;
  readonly status: number;
  readonly description: string;
}

/** An error for the caller, with a message that is safe to return. Any other error is a bug. */
export class GatewayError extends Error {
  readonly code: string;
  readonly status: number;
  /** Headers of an HTTP response that consists of this error. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    kind: ErrorCode | ErrorKind,
    message?: string,
    cause?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) {
    const { code, status, description } =
      typeof kind === 'string' ? { code: kind, ...ERRORS[kind] } : kind;
    super(message ?? description, { cause });
    this.code = code;
    this.status = status;
    this.headers =
      headers ?? (code === 'SERVICE_UNAVAILABLE' ? { 'Retry-After': RETRY_AFTER_SECONDS } : {});
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

/** The token is missing or, if there is a `problem`, invalid. The challenge is that of RFC 6750 §3. */
export class Unauthenticated extends GatewayError {
  constructor(problem?: string) {
    const message =
      problem ?? 'A token is required. Send the header Authorization: Bearer <token>.';
    const challenge = problem
      ? `Bearer error="invalid_token", error_description="${problem}"`
      : 'Bearer realm="gateway"';
    super('UNAUTHENTICATED', message, undefined, { 'WWW-Authenticate': challenge });
  }
}

/** The caller's token lacks a scope. */
export class Forbidden extends GatewayError {
  readonly scope: string;

  constructor(scope: string) {
    super('FORBIDDEN', `The token lacks the scope "${scope}".`, undefined, {
      'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"`,
    });
    this.scope = scope;
  }
}

/** The path does not support the method; `allowed` are those that it does. */
export class MethodNotAllowed extends GatewayError {
  constructor(allowed: string) {
    super('METHOD_NOT_ALLOWED', undefined, undefined, { Allow: allowed });
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
