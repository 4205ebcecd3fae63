import { z } from 'zod';

import { isAmong, type RecordedRow, valueOf } from '../../changes/record.ts';
import { Id, parse, type Unchecked } from '../../contract/values.ts';
import type { Category } from '../../database/generated/prisma/client.ts';

const CategoryChangeFilter = z.object({ ids: z.array(Id).nullish() });

/** Returns a category as it was recorded. */
export const toCategory = (row: RecordedRow): Category => ({
  id: BigInt(valueOf(row, 'id')),
  name: valueOf(row, 'name'),
  description: row['description'] ?? null,
});

/**
 * Returns the condition of a filter for recorded categories.
 * @throws InvalidId
 */
export function categoryCondition(
  filter: Unchecked<typeof CategoryChangeFilter>,
): (row: RecordedRow) => boolean {
  const hasId = isAmong(parse(CategoryChangeFilter, filter, 'filter').ids);
  return (row) => hasId(row['id']);
}
