import { z } from 'zod';

import { isAmong, type RecordedRow, valueOf } from '../../changes/record.ts';
import { Id, parse, type Unchecked } from '../../contract/values.ts';
import type { Pet } from '../../database/generated/prisma/client.ts';
import { DEFAULTS, Status } from './pets.ts';

const PetChangeFilter = z.object({
  ids: z.array(Id).nullish(),
  categoryId: Id.nullish(),
  status: z.array(Status).nullish(),
});

const statusOf = (row: RecordedRow): string => valueOf(row, 'status', DEFAULTS.status);

/** Returns a pet as it was recorded. */
export const toPet = (row: RecordedRow): Pet => ({
  id: BigInt(valueOf(row, 'id')),
  name: valueOf(row, 'name'),
  categoryId: BigInt(valueOf(row, 'category_id')),
  status: Status.parse(statusOf(row)),
});

/**
 * Returns the condition of a filter for recorded pets.
 * @throws InvalidId, InvalidInput
 */
export function petCondition(
  filter: Unchecked<typeof PetChangeFilter>,
): (row: RecordedRow) => boolean {
  const { ids, categoryId, status } = parse(PetChangeFilter, filter, 'filter');
  const hasId = isAmong(ids);
  const isOfCategory = isAmong(categoryId == null ? categoryId : [categoryId]);
  const hasStatus = isAmong(status);
  return (row) => hasId(row['id']) && isOfCategory(row['category_id']) && hasStatus(statusOf(row));
}
