import { z } from 'zod';

import {
  createBatcher,
  defineWrite,
  isRolledBack,
  type DataSource,
  MAX_SHARED,
  parseArguments,
} from '../../gateway/index.ts';
import { NewOrder, type OrderAndPet, orders } from './orders.ts';
import { rejectPastDates } from './ship-date.ts';
import { takeFreeUnits, takeUnits } from './take-units.ts';

/**
 * Places an order without an idempotency key. The orders of a tick are placed in batches: one statement places the first
 * order for each pet in a batch. An order whose result is undefined has to be placed on its own.
 */
const placeShared = createBatcher<NewOrder, OrderAndPet | undefined>({
  maxSize: () => MAX_SHARED,
  changes: { field: orders.fields.petId, of: ({ petId }) => petId },
  run: async ({ db, observeBatch }, lines) => {
    // Reversed, because a later entry of a Map replaces an earlier one.
    const firstOf = new Map(lines.toReversed().map((line) => [line.petId, line]));
    const alone = lines.map(() => undefined);
    if (firstOf.size === 1) return alone;
    observeBatch('placeOrder', firstOf.size);
    try {
      const placed = await takeFreeUnits(db, [...firstOf.values()]);
      return lines.map((line) => placed.get(line));
    } catch (error) {
      if (!isRolledBack(error)) throw error;
      // PostgreSQL may have rejected only one of the orders. Placed on its own, each order succeeds or gets its own error.
      return alone;
    }
  },
});

const args = { input: NewOrder };
const Arguments = z.object(args);

const placeOnce = defineWrite({
  operation: 'placeOrder',
  args,
  digested: ({ input }) => orders.toDigest(input),
  stored: orders.normalize,
  write: async (session, { input }) => {
    rejectPastDates(input, 'input');
    return takeUnits(session, input);
  },
});

/**
 * Places an order, once per idempotency key.
 * @throws InvalidInput, PetNotFound, PetNotAvailable, InsufficientStock, IdempotencyConflict
 */
export async function placeOrder(
  source: DataSource,
  given: { readonly input: object; readonly idempotencyKey?: string | null | undefined },
  caller: string | undefined,
): Promise<OrderAndPet> {
  if (given.idempotencyKey != null) return placeOnce(source.db, given, caller);
  const { input: line } = parseArguments(Arguments, given);
  rejectPastDates(line, 'input');
  return (await placeShared(source, line)) ?? takeUnits(source.db, line);
}
