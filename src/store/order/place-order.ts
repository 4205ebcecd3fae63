import DataLoader from 'dataloader';

import { parse, type Unchecked } from '../../contract/values.ts';
import { isUnavailable, keepsConnection } from '../../database/errors.ts';
import { type CallerKey, writeOnce } from '../../database/idempotency.ts';
import { perStore, SHARED, type Store } from '../../database/loaders.ts';
import { NewOrder, type OrderAndPet } from './orders.ts';
import { type PlacedOrder, takeFreeLines, takeUnits, withPet } from './take-units.ts';

// Orders that share a statement wait for each other.
const MAX_SHARED = 8;

/**
 * Places orders without an idempotency key; those of one turn of the event loop share a statement. An
 * order that can't be served at once is undefined, and has to be placed alone, where it can wait or be
 * refused without an effect on the others.
 */
const sharedOrders = perStore(
  ({ db, observeBatch }) =>
    new DataLoader<NewOrder, PlacedOrder | undefined>(
      async (lines) => {
        observeBatch('placeOrder', lines.length);
        const none = lines.map(() => undefined);
        if (lines.length === 1) return none;
        return takeFreeLines(db, lines).catch((error: Error) => {
          if (isUnavailable(error) || !keepsConnection(error)) throw error;
          // PostgreSQL has rejected a value, of one order perhaps.
          return none;
        });
      },
      { ...SHARED, maxBatchSize: MAX_SHARED },
    ),
);

/**
 * Places an order, once for each idempotency key.
 * @throws InvalidId, InvalidInput, PetNotFound, PetNotAvailable, InsufficientStock,
 * IdempotencyConflict
 */
export async function placeOrder(
  store: Store,
  input: Unchecked<typeof NewOrder>,
  write: CallerKey,
): Promise<OrderAndPet> {
  const line = parse(NewOrder, input, 'input');
  if (write.key == null) {
    const shared = await sharedOrders(store).load(line);
    const { order, pet } = shared ?? (await takeUnits(store.db, line));
    return { ...order, pet };
  }
  const { shipDate, ...undated } = line;
  // Without a date it is the input of release 1.0.0, so that a retry of its callers is recognized.
  const request = { ...write, operation: 'placeOrder', input: shipDate === null ? undated : line };
  let placed: PlacedOrder | undefined;
  const order = await writeOnce(store.db, request, async (session) => {
    placed = await takeUnits(session, line);
    return placed.order;
  });
  return withPet(order, placed);
}
