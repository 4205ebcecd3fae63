import { z } from 'zod';

import { type RecordedRow, valueOf } from '../../changes/record.ts';
import { isAmong, isAtMost, type RowFilter } from '../../changes/row-filter.ts';
import { Id, parse, type Unchecked } from '../../contract/values.ts';
import type { InventoryItem } from '../../database/generated/prisma/client.ts';

const InventoryChangeFilter = z.object({
  petIds: z.array(Id).nullish(),
  maxQuantity: z.int().nullish(),
});

/** Returns an inventory entry as it was recorded. */
export const toInventoryItem = (row: RecordedRow): InventoryItem => ({
  petId: BigInt(valueOf(row, 'pet_id')),
  quantity: Number(valueOf(row, 'quantity')),
});

/** Returns what a filter requires of recorded inventory entries. @throws InvalidId, InvalidInput */
export function toInventoryFilter(filter: Unchecked<typeof InventoryChangeFilter>): RowFilter {
  const { petIds, maxQuantity } = parse(InventoryChangeFilter, filter, 'filter');
  return [...isAmong('pet_id', petIds), ...isAtMost('quantity', maxQuantity)];
}
