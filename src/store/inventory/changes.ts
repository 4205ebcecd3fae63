import { z } from 'zod';

import { isAmong, type RecordedRow, valueOf } from '../../changes/record.ts';
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

/**
 * Returns the condition of a filter for recorded inventory entries.
 * @throws InvalidId, InvalidInput
 */
export function inventoryCondition(
  filter: Unchecked<typeof InventoryChangeFilter>,
): (row: RecordedRow) => boolean {
  const { petIds, maxQuantity } = parse(InventoryChangeFilter, filter, 'filter');
  const isOfPet = isAmong(petIds);
  const max = maxQuantity ?? Infinity;
  return (row) => isOfPet(row['pet_id']) && Number(row['quantity']) <= max;
}
