import { z } from 'zod';

import { petStore } from '../../src/store/index.ts';

/**
 * Values of columns and inputs that cannot be derived from their rule or the model, by `Type.field`, as the database
 * stores them. `n` differs in each row.
 */
const VALUES: Readonly<Record<string, (n: number) => string | number>> = {};

/** Returns the listed value of a field in row `n`; undefined if values are derived. */
export const listedValue = (type: string, field: string, n: number): string | number | undefined =>
  VALUES[`${type}.${field}`]?.(n);

const ruleOf = (type: string, field: string): z.ZodType | undefined =>
  petStore.repositories.get(type)?.inputs.find(({ name }) => name === field)?.rule;

const MAX_INT = 2 ** 31 - 1;

/** Returns the least number that a field's rule allows, from 0 if possible, and how many numbers it allows from there. */
export function numbersOf(type: string, field: string): { least: number; count: number } {
  const rule = ruleOf(type, field);
  const { minValue, maxValue } = rule instanceof z.ZodNumber ? rule : {};
  const most = Math.min(maxValue ?? MAX_INT, MAX_INT);
  const least = Math.max(minValue ?? 0, Math.min(0, most));
  return { least, count: most - least + 1 };
}

/** Returns a derived value. @throws Error if the field's rule does not allow it */
export function requireAllowed<Value>(type: string, field: string, value: Value): Value {
  if (ruleOf(type, field)?.safeParse(value).success !== false) return value;
  throw new Error(`Add values of ${type}.${field} to VALUES in test/support/values.ts.`);
}
