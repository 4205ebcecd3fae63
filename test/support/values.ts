import { z } from 'zod';

import { petStore } from '../../src/store/index.ts';

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
  throw new Error(
    `Derive another value of ${type}.${field} in crud.ts and rows.ts of test/support.`,
  );
}
