import { z } from 'zod';

import { isAmong, type RecordedRow, valueOf } from '../../changes/record.ts';
import { Id, parse, type Unchecked } from '../../contract/values.ts';
import type { Order } from '../../database/generated/prisma/client.ts';
import { parseJsonTime } from '../../database/type-parsers.ts';
import { DEFAULTS } from './orders.ts';

const OrderChangeFilter = z.object({
  ids: z.array(Id).nullish(),
  petId: Id.nullish(),
  complete: z.boolean().nullish(),
});

const completeOf = (row: RecordedRow): string =>
  valueOf(row, 'complete', String(DEFAULTS.complete));

/** Returns an order as it was recorded. */
export function toOrder(row: RecordedRow): Order {
  const shipDate = row['ship_date'];
  return {
    id: BigInt(valueOf(row, 'id')),
    petId: BigInt(valueOf(row, 'pet_id')),
    quantity: Number(valueOf(row, 'quantity')),
    shipDate: shipDate == null ? null : parseJsonTime(shipDate),
    complete: completeOf(row) === 'true',
  };
}

/**
 * Returns the condition of a filter for recorded orders.
 * @throws InvalidId
 */
export function orderCondition(
  filter: Unchecked<typeof OrderChangeFilter>,
): (row: RecordedRow) => boolean {
  const { ids, petId, complete } = parse(OrderChangeFilter, filter, 'filter');
  const hasId = isAmong(ids);
  const isOfPet = isAmong(petId == null ? petId : [petId]);
  const isComplete = isAmong(complete == null ? complete : [complete]);
  return (row) => hasId(row['id']) && isOfPet(row['pet_id']) && isComplete(completeOf(row));
}
