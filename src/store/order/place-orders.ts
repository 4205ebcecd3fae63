import { z } from 'zod';

import { parse, type Unchecked } from '../../contract/values.ts';
import type { Database } from '../../database/database.ts';
import { type CallerKey, writeOnce } from '../../database/idempotency.ts';
import { NewOrder, type OrderAndPet } from './orders.ts';
import { type PlacedOrder, takeLines, withPet } from './take-units.ts';

const Lines = z.array(NewOrder).min(1, 'must have at least one line.');

/** The orders of several lines that were placed together, in the order of the lines. */
export interface PlacedOrders {
  readonly orders: readonly OrderAndPet[];
}

/**
 * Places an order for each line, all or none, once for each idempotency key.
 * @throws InvalidId, InvalidInput, PetNotFound, PetNotAvailable, InsufficientStock,
 * IdempotencyConflict
 */
export async function placeOrders(
  db: Database,
  input: readonly Unchecked<typeof NewOrder>[],
  write: CallerKey,
): Promise<PlacedOrders> {
  const lines = parse(Lines, input, 'input');
  const request = { ...write, operation: 'placeOrders', input: lines };
  let placed: PlacedOrder[] = [];
  const orders = await writeOnce(db, request, async (session) => {
    placed = await takeLines(session, lines);
    return placed.map(({ order }) => order);
  });
  return { orders: orders.map((order, line) => withPet(order, placed[line])) };
}
