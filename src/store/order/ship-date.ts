import { z } from 'zod';

import { parseArguments } from '../../gateway/index.ts';

// A caller may know only its local date, or its clock may be wrong.
const TOLERANCE_MS = 86_400_000;

const Dated = z.object({
  shipDate: z
    .date()
    .refine((date) => date.getTime() >= Date.now() - TOLERANCE_MS, {
      error: 'must not be more than a day in the past.',
      params: { code: 'TOO_SMALL' },
    })
    .nullish(),
});

const One = Dated.extend({ input: Dated.optional() });
const Cart = z.object({ input: z.array(Dated) });

/**
 * Rejects ship dates more than a day in the past. The arguments must have passed all other rules. This rule is
 * checked only when the order is written, so that a retry with an idempotency key returns the original result even
 * if the date has passed since.
 * @throws InvalidInput with every rejected date
 */
export function rejectPastDates(args: object): void {
  parseArguments('input' in args && Array.isArray(args.input) ? Cart : One, args);
}
