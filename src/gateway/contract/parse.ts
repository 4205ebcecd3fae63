import { z } from 'zod';

import { InvalidId, InvalidInput, type Issue } from './gateway-error.ts';

/** How many rows a page may have, and how many values a list or an object of the input. */
export const MAX_LIST_SIZE = 100;

const MAX_ID = 9_223_372_036_854_775_807n;

const isInt64 = (text: string): boolean => /^[0-9]{1,19}$/.test(text) && BigInt(text) <= MAX_ID;
// PostgreSQL cannot store NUL or a lone surrogate.
const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();
export const characters = (text: string): number => Array.from(text).length;

// `meta` adds the keywords of JSON Schema that zod cannot derive.

/** Parses an id, the decimal digits of an int64, into a bigint. */
export const Id = z
  .string()
  .refine(isInt64, {
    error: 'must be 1 to 19 digits, at most 9223372036854775807.',
    params: { id: true },
  })
  .transform(BigInt)
  .meta({ type: 'integer', format: 'int64', minimum: 0 });

/** Text of any length that the database can hold. */
export const Text = z
  .string('must be text.')
  .refine(isStorable, 'must not contain NUL or a lone surrogate.');

/** The idempotency key of a write, or the `sub` of a token: 1 to 255 characters (code points). */
export const Label = Text.refine(
  (label) => label !== '' && characters(label) <= 255,
  'must have 1 to 255 characters.',
);

/** Input that is not validated yet: each field may also be null or undefined. */
export type Unchecked<Schema extends z.ZodType> = {
  [Key in keyof z.input<Schema>]: z.input<Schema>[Key] | null | undefined;
};

/**
 * Validates and converts a value of the caller. The path of each issue begins with `path`.
 * @throws InvalidId if an id is malformed, InvalidInput if any other value is invalid
 */
export function parse<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  ...path: string[]
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { issues } = result.error;
  const ids = issues.filter((issue) => issue.code === 'custom' && issue.params?.['id']);
  const toIssue = (issue: z.core.$ZodIssue): Issue => ({
    path: [...path, ...issue.path.map(String)],
    message: issue.message,
  });
  throw ids.length > 0 ? new InvalidId(ids.map(toIssue)) : new InvalidInput(issues.map(toIssue));
}

/** @throws InvalidId */
export const parseId = (id: string, ...path: string[]): bigint => parse(Id, id, ...path);
