import { z } from 'zod';

export const whole = (
  least: number,
  most: number,
): z.ZodPipe<z.ZodString, z.ZodTransform<number, string>> => {
  const rule = `must be a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, rule)
    .transform(Number)
    .refine((value) => value >= least && value <= most, rule)
    .meta({ values: `${least} to ${most}` });
};

const toList = (words: readonly string[]): string =>
  `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;

export const choice = <const Word extends string>(
  ...words: Word[]
): z.ZodEnum<{ [K in Word]: K }> =>
  z
    .enum(words, `must be ${toList(words)}`)
    .meta({ values: toList(words.map((word) => `\`${word}\``)) });

export const flag = choice('true', 'false')
  .transform((word) => word === 'true')
  .meta({ values: '`true` or `false`' });

/** Adds what the variable is for, and a reason to set it. */
export const variable = <Rule extends z.ZodType>(
  rule: Rule,
  description: string,
  reason: string,
): Rule => rule.describe(description).meta({ reason });
