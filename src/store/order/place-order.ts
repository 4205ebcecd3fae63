import {
  argumentsOf,
  createLoad,
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

/**
 * Places an order without an idempotency key. The orders of a tick are placed in batches: one statement places the first
 * order for each pet in a batch. An order whose result is undefined has to be placed on its own.
 */
const placeShared = createLoad<NewOrder, PlacedOrder | undefined>(() => {
  let restsUntil = 0;
  const place = async (
    { db, observeBatch }: DataSource,
    lines: readonly NewOrder[],
  ): Promise<ReadonlyMap<NewOrder, PlacedOrder | Error>> => {
    if (lines.length === 1 || performance.now() < restsUntil) return new Map();
    observeBatch('placeOrder', lines.length);
    try {
      return await takeFreeUnits(db, lines);
    } catch (error) {
      if (!isRolledBack(error)) throw error;
      // PostgreSQL may have rejected only one of the orders. Placed on its own, each order succeeds or gets its own error.
      restsUntil = performance.now() + REST_MS;
      return new Map();
    }
  };
  return async (source, lines) => {
    // Reversed, because a later entry of a Map replaces an earlier one.
    const firstOf = new Map(lines.toReversed().map((line) => [line.petId, line]));
    const results = await place(source, [...firstOf.values()]);
    return lines.map((line) => results.get(line));
  };
}, MAX_SHARED);

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
