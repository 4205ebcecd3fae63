import DataLoader from 'dataloader';

import {
  argumentsOf,
  isRolledBack,
  type DataSource,
  MAX_SHARED,
  parseArguments,
  perObject,
  SHARED,
  writeOnce,
} from '../../gateway/index.ts';
import { NewOrder, type OrderAndPet, orders } from './orders.ts';
import { rejectPastDates } from './ship-date.ts';
import { type PlacedOrder, takeFreeUnits, takeUnits } from './take-units.ts';

// What made a shared statement fail, such as a trigger of an operator, can last.
const REST_MS = 10_000;

/**
 * Places orders without an idempotency key. The first for each pet in one tick share a
 * statement. An order whose result is undefined has to be placed alone.
 */
const sharedOrders = perObject(({ db, observeBatch }: DataSource) => {
  let restsUntil = 0;
  const placeShared = async (
    lines: readonly NewOrder[],
  ): Promise<ReadonlyMap<NewOrder, PlacedOrder | Error>> => {
    if (lines.length === 1 || performance.now() < restsUntil) return new Map();
    observeBatch('placeOrder', lines.length);
    try {
      return await takeFreeUnits(db, lines);
    } catch (error) {
      if (!isRolledBack(error)) throw error;
      // PostgreSQL may have rejected one of them only. Alone, each gets an error of its own.
      restsUntil = performance.now() + REST_MS;
      return new Map();
    }
  };
  return new DataLoader<NewOrder, PlacedOrder | undefined>(
    async (lines) => {
      // An entry of a Map replaces the one before it.
      const firstOf = new Map(lines.toReversed().map((line) => [line.petId, line]));
      const results = await placeShared([...firstOf.values()]);
      return lines.map((line) => results.get(line));
    },
    { ...SHARED, maxBatchSize: MAX_SHARED },
  );
});

const Arguments = argumentsOf({ input: NewOrder });

/**
 * Places an order, once for each idempotency key.
 * @throws InvalidInput, PetNotFound, PetNotAvailable, InsufficientStock, IdempotencyConflict
 */
export async function placeOrder(
  source: DataSource,
  args: object,
  caller: string | undefined,
): Promise<OrderAndPet> {
  const { input: line, idempotencyKey: key } = parseArguments(Arguments, args);
  if (key == null) {
    rejectPastDates(args);
    const shared = await sharedOrders(source).load(line);
    const { order, pet } = shared ?? (await takeUnits(source.db, line));
    return { ...order, pet };
  }
  const input = orders.toDigest(line);
  const request = { key, caller, operation: 'placeOrder', input, stored: orders.normalize };
  let placed: PlacedOrder | undefined;
  const order = await writeOnce(source.db, request, async (session) => {
    rejectPastDates(args);
    placed = await takeUnits(session, line);
    return placed.order;
  });
  // A stored order is another object, without its pet.
  return placed?.order === order ? { ...order, pet: placed.pet } : order;
}
