import { z } from 'zod';

import { type RecordedRow, valueOf } from '../../changes/record.ts';
import { isAmong, isEqual, type RowFilter } from '../../changes/row-filter.ts';
import { Id, parse, type Unchecked } from '../../contract/values.ts';
import type { Order } from '../../database/generated/prisma/client.ts';
import { parseJsonTime } from '../../database/type-parsers.ts';
import { DEFAULTS } from './orders.ts';

const OrderChangeFilter = z.object({
  ids: z.array(Id).nullish(),
  petId: Id.nullish(),
  complete: z.boolean().nullish(),
});

/** Returns an order as it was recorded. */
export function toOrder(row: RecordedRow): Order {
  const shipDate = row['ship_date'];
  return {
    id: BigInt(valueOf(row, 'id')),
    petId: BigInt(valueOf(row, 'pet_id')),
    quantity: Number(valueOf(row, 'quantity')),
    shipDate: shipDate == null ? null : parseJsonTime(shipDate),
    complete: valueOf(row, 'complete', String(DEFAULTS.complete)) === 'true',
  };
}

/** Returns what a filter requires of recorded orders. @throws InvalidId */
export function toOrderFilter(filter: Unchecked<typeof OrderChangeFilter>): RowFilter {
  const { ids, petId, complete } = parse(OrderChangeFilter, filter, 'filter');
  return [
    ...isAmong('id', ids),
    ...isEqual('pet_id', petId),
    ...isEqual('complete', complete, DEFAULTS.complete),
  ];
}
