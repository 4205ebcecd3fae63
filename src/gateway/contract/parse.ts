import { z } from 'zod';

import {
  InvalidId,
  InvalidInput,
  isIssueCode,
  type Issue,
  type IssueCode,
  MAX_ISSUES,
} from './gateway-error.ts';

/** The maximum number of rows on a page, and of values in a list or object in the input, except in a list of lines. */
export const MAX_LIST_SIZE = 100;

/** The maximum number of lines (the objects in a mutation's list `input`), if the list is passed in a variable. */
export const MAX_LINES = 1000;

const MAX_ID = 9_223_372_036_854_775_807n;

const isInt64 = (text: string): boolean => /^[0-9]{1,19}$/.test(text) && BigInt(text) <= MAX_ID;
// PostgreSQL cannot store NUL or a lone surrogate.
const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();
export const characters = (text: string): number => Array.from(text).length;

// `meta` adds the JSON Schema keywords that zod cannot derive.

const idThat = (isId: (text: string) => boolean) =>
  z
    .string()
    .refine(isId, {
      error: 'must be 1 to 19 digits and at most 9223372036854775807.',
      params: { code: 'INVALID_ID' },
    })
    .transform(BigInt)
    .meta({ type: 'integer', format: 'int64', minimum: 0 });

/** Parses an id, the decimal digits of an int64, into a bigint. */
export const Id = idThat(isInt64);

/** Whether a text is the id of a row, which can be negative if it was imported before a CHECK forbade that. */
export const isRowId = (text: unknown): text is string =>
  typeof text === 'string' && isInt64(text.replace(/^-/, ''));

export const RowId = idThat(isRowId);

/** Text of any length, without characters that the database can't store. */
export const Text = z
  .string('must be a string.')
  .refine(isStorable, 'must not contain NUL or a lone surrogate.');

/** The maximum number of characters (code points) in an idempotency key. */
export const MAX_KEY_LENGTH = 255;

/** The idempotency key of a write, or the `sub` of a token: 1 to 255 characters. */
export const Text255 = Text.refine(
  (text) => text !== '' && characters(text) <= MAX_KEY_LENGTH,
  'must be 1 to 255 characters long.',
);

const toIssue = ({ path, message }: z.core.$ZodIssue, start: readonly string[] = []): Issue => ({
  path: [...start, ...path.map(String)],
  message,
});

const isLong = (origin: string): boolean => origin === 'string' || origin === 'array';

/** Returns the code that a rule of the gateway gives its issues. */
const ownCodeOf = (issue: z.core.$ZodIssue): unknown =>
  issue.code === 'custom' ? issue.params?.['code'] : undefined;

function issueCodeOf(issue: z.core.$ZodIssue, value: unknown): IssueCode {
  if (value == null) return 'REQUIRED';
  if (issue.code === 'too_small') return isLong(issue.origin) ? 'TOO_SHORT' : 'TOO_SMALL';
  if (issue.code === 'too_big') return isLong(issue.origin) ? 'TOO_LONG' : 'TOO_LARGE';
  const code = ownCodeOf(issue);
  return isIssueCode(code) ? code : 'INVALID_VALUE';
}

/** Returns the value at the path of an issue, whose names are those of the rule. */
const valueAt = (args: object, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((value, key) => Reflect.get(Object(value), key), args);

/** Converts an issue that zod found in a mutation's arguments, and adds its code and line. */
function toArgumentIssue(issue: z.core.$ZodIssue, args: object): Issue {
  const value = valueAt(args, issue.path);
  const line = issue.path[1];
  return {
    ...toIssue(issue),
    ...(value === null && { message: 'must not be null.' }),
    code: issueCodeOf(issue, value),
    ...(typeof line === 'number' && { line }),
  };
}

/**
 * Validates and converts all arguments of a mutation.
 * @throws InvalidInput with the first 100 invalid values
 */
export function parseArguments<Schema extends z.ZodType>(
  rule: Schema,
  args: object,
): z.output<Schema> {
  const result = rule.safeParse(args);
  if (result.success) return result.data;
  const { issues } = result.error;
  const first = issues.slice(0, MAX_ISSUES).map((issue) => toArgumentIssue(issue, args));
  throw new InvalidInput(first, issues.length);
}

/**
 * Validates and converts a value from the caller. The path of each issue starts with `path`, which may be empty for an
 * object.
 * @throws InvalidId if an id is malformed, InvalidInput if only other values are invalid
 */
export function parse<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  ...path: Schema extends z.ZodObject ? string[] : [string, ...string[]]
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { issues } = result.error;
  const ofIds = issues.filter((issue) => ownCodeOf(issue) === 'INVALID_ID');
  const [Invalid, reported] = ofIds.length > 0 ? [InvalidId, ofIds] : [InvalidInput, issues];
  throw new Invalid(reported.map((issue) => toIssue(issue, path)));
}

/** @throws InvalidId */
export const parseId = (id: string, name: string): bigint =>
  // zod takes several microseconds.
  isInt64(id) ? BigInt(id) : parse(Id, id, name);
