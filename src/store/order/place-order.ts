import {
  argumentsOf,
  createBatcher,
  isRolledBack,
  type DataSource,
  MAX_SHARED,
  parseArguments,
  writeOnce,
} from '../../gateway/index.ts';
import { NewOrder, type OrderAndPet, orders } from './orders.ts';
import { rejectPastDates } from './ship-date.ts';
import { type PlacedOrder, takeFreeUnits, takeUnits } from './take-units.ts';

// For this long after a shared statement has failed, each order is placed on its own, because the cause, such as an
// operator's trigger, may persist.
const REST_MS = 10_000;
// By the source of a gateway: when it ends, in milliseconds of performance.now().
const restsUntil = new WeakMap<DataSource, number>();

/**
 * Places an order without an idempotency key. The orders of a tick are placed in batches: one statement places the first
 * order for each pet in a batch. An order whose result is undefined has to be placed on its own.
 */
const placeShared = createBatcher<NewOrder, PlacedOrder | undefined>({
  maxSize: () => MAX_SHARED,
  run: async (source, lines) => {
    const { db, observeBatch, shared = source } = source;
    // Reversed, because a later entry of a Map replaces an earlier one.
    const firstOf = new Map(lines.toReversed().map((line) => [line.petId, line]));
    const alone = lines.map(() => undefined);
    if (firstOf.size === 1 || performance.now() < (restsUntil.get(shared) ?? 0)) return alone;
    observeBatch('placeOrder', firstOf.size);
    try {
      const placed = await takeFreeUnits(db, [...firstOf.values()]);
      return lines.map((line) => placed.get(line));
    } catch (error) {
      if (!isRolledBack(error)) throw error;
      // PostgreSQL may have rejected only one of the orders. Placed on its own, each order succeeds or gets its own error.
      restsUntil.set(shared, performance.now() + REST_MS);
      return alone;
    }
  },
});

const Arguments = argumentsOf({ input: NewOrder });

/**
 * Places an order, once per idempotency key.
 * @throws InvalidInput, PetNotFound, PetNotAvailable, InsufficientStock, IdempotencyConflict
 */
export async function placeOrder(
  source: DataSource,
  args: object,
  caller: string | undefined,
): Promise<OrderAndPet> {
  const { input: line, idempotencyKey: key } = parseArguments(Arguments, args);
  if (key == null) {
    rejectPastDates(line, 'input');
    const shared = await placeShared(source, line);
    const { order, pet } = shared ?? (await takeUnits(source.db, line));
    return { ...order, pet };
  }
  const input = orders.toDigest(line);
  const request = { key, caller, operation: 'placeOrder', input, stored: orders.normalize };
  let placed: PlacedOrder | undefined;
  const order = await writeOnce(source.db, request, async (session) => {
    rejectPastDates(line, 'input');
    placed = await takeUnits(session, line);
    return placed.order;
  });
  // If the order comes from a stored result, it is a different object and has no pet.
  return placed?.order === order ? { ...order, pet: placed.pet } : order;
}
