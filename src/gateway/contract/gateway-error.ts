import { type ErrorCode, ERRORS } from './error-codes.ts';

/** Why a value in a mutation's arguments can be invalid. */
export const ISSUE_CODES = {
  REQUIRED: 'The value is missing, null or blank.',
  INVALID_ID: ERRORS.INVALID_ID.description,
  TOO_SHORT: 'The string or list is too short.',
  TOO_LONG: 'The string or list is too long.',
  TOO_SMALL: 'The value is too small, or too early.',
  TOO_LARGE: 'The value is too large, or too late.',
  INVALID_VALUE: 'The value is invalid for another reason, which the message explains.',
} as const;

export type IssueCode = keyof typeof ISSUE_CODES;

export const isIssueCode = (code: unknown): code is IssueCode =>
  typeof code === 'string' && Object.hasOwn(ISSUE_CODES, code);

/** An invalid value, with its path in the arguments and the reason. */
export interface Issue {
  readonly path: readonly string[];
  readonly message: string;
  /** The reason as a code, if the value is in a mutation's arguments. */
  readonly code?: IssueCode;
  /** The zero-based index of the line that contains the value, if the argument is a list. */
  readonly line?: number;
}

/** The maximum number of issues in an error. */
export const MAX_ISSUES = 100;
/** The maximum size of an error's message as JSON. Messages quote values that callers sent. */
export const MAX_MESSAGE_BYTES = 1550;

/**
 * Removes the middle of a message that is larger than `maxBytes` as JSON: its start and end describe the location and
 * the reason.
 */
export function shorten(message: string, maxBytes = MAX_MESSAGE_BYTES): string {
  let short = message;
  for (let half = maxBytes / 2; Buffer.byteLength(JSON.stringify(short)) > maxBytes; half /= 2) {
    short = `${message.slice(0, half)} … ${message.slice(-half)}`.toWellFormed();
  }
  return short;
}

// Some failovers and restarts take less than a second.
const RETRY_AFTER_SECONDS = '1';

/** Converts a thrown value, which can be anything, to an error. */
export const toError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown));

/** Returns the code of an error from Node.js, pg or PGlite: the system's error code or an SQLSTATE; empty if none. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

/** An error code of a store, with its HTTP status and a description of when it is returned. */
interface ErrorSpec {
  readonly code: string;
  readonly status: number;
  readonly description: string;
}

/** An error for the caller, with a message that is safe to return. */
export class GatewayError extends Error {
  readonly code: string;
  readonly status: number;
  /** Headers of the HTTP response that returns this error. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    spec: ErrorCode | ErrorSpec,
    message?: string,
    cause?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) {
    const { code, status, description } =
      typeof spec === 'string' ? { code: spec, ...ERRORS[spec] } : spec;
    super(shorten(message ?? description), { cause });
    this.code = code;
    this.status = status;
    this.headers =
      headers ?? (code === 'SERVICE_UNAVAILABLE' ? { 'Retry-After': RETRY_AFTER_SECONDS } : {});
  }

  /** Whether the gateway logs this error, in addition to the request. */
  get isLogged(): boolean {
    return this.status >= 500;
  }

  /** Returns the error object, as the OpenAPI document defines it. */
  toJSON(): { code: string; message: string; status: number } {
    return { code: this.code, message: this.message, status: this.status };
  }
}

/** A class of store errors that mutations return as data. */
// The constructors take different arguments.
// oxlint-disable-next-line typescript/no-explicit-any
export interface ErrorType<Args extends readonly unknown[] = any[], Fields = object> {
  readonly spec: ErrorSpec;
  readonly name: string;
  new (...args: Args): GatewayError & Fields;
}

/**
 * Creates the error class for a store's code, for example BookNotFound for BOOK_NOT_FOUND. `describe` receives the
 * constructor's arguments, and returns the error's message and additional fields.
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
  const spec: ErrorSpec = { code, status, description };
  class StoreError extends GatewayError {
    static readonly spec = spec;

    constructor(...args: Args) {
      const { message, ...fields } = describe(...args);
      super(spec, message);
      Object.assign(this, fields);
    }
  }
  const name = code
    .toLowerCase()
    .replaceAll(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
  Object.defineProperty(StoreError, 'name', { value: name });
  // `describe` returns exactly these fields.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return StoreError as unknown as ErrorType<Args, Fields>;
}

/**
 * The gateway can't serve a request at the moment. This is expected under load and during a failover, so it is not
 * logged.
 */
export class Unavailable extends GatewayError {
  constructor(message: string) {
    super('SERVICE_UNAVAILABLE', message);
  }

  override get isLogged(): boolean {
    return false;
  }
}

/** An error of a store that the mutation does not declare. Callers expect it as data, so it is logged. */
export class Undeclared extends GatewayError {
  constructor({ constructor, code, status, message, headers }: GatewayError, mutation: string) {
    const problem = `Mutation.${mutation} must list ${constructor.name} in errors.types.`;
    super({ code, status, description: message }, message, new Error(problem), headers);
  }

  override get isLogged(): boolean {
    return true;
  }
}

/** An error about values in the request. The message contains only the first ten issues. */
export class InputError extends GatewayError {
  /** The first 100 issues. */
  readonly issues: readonly Issue[];
  readonly issueCount: number;

  constructor(code: ErrorCode, issues: readonly Issue[], issueCount = issues.length) {
    const texts = issues
      .slice(0, 10)
      .map(({ path, message }) => `${path.join('.') || 'value'}: ${message}`);
    super(code, texts.join(' '));
    this.issues = issues.slice(0, MAX_ISSUES);
    this.issueCount = issueCount;
  }
}

export class InvalidId extends InputError {
  constructor(issues: readonly Issue[]) {
    super('INVALID_ID', issues);
  }
}

export class InvalidInput extends InputError {
  constructor(issues: readonly Issue[], issueCount?: number) {
    super('INVALID_INPUT', issues, issueCount);
  }
}

/**
 * The token is missing or, with a `problem`, invalid. The challenge follows RFC 6750 §3. The caller does not see the
 * `reason`, which is for the log.
 */
export class Unauthenticated extends GatewayError {
  readonly reason: string | undefined;

  constructor(problem?: string, reason = problem) {
    const message =
      problem ?? 'A token is required. Send the header Authorization: Bearer <token>.';
    const challenge = problem
      ? `Bearer error="invalid_token", error_description="${problem}"`
      : 'Bearer realm="gateway"';
    super('UNAUTHENTICATED', message, undefined, { 'WWW-Authenticate': challenge });
    this.reason = reason;
  }
}

export class Forbidden extends GatewayError {
  readonly scope: string;

  constructor(scope: string) {
    super('FORBIDDEN', `The token lacks the scope "${scope}".`, undefined, {
      'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"`,
    });
    this.scope = scope;
  }
}

/** The path does not support the request's method. `allowed` lists the methods that it supports. */
export class MethodNotAllowed extends GatewayError {
  constructor(allowed: string, message?: string) {
    super('METHOD_NOT_ALLOWED', message, undefined, { Allow: allowed });
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
