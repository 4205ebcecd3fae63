import { z } from 'zod';

import { type RecordedRow, valueOf } from '../../changes/record.ts';
import { isAmong, type RowFilter } from '../../changes/row-filter.ts';
import { Id, parse, type Unchecked } from '../../contract/values.ts';
import type { Category } from '../../database/generated/prisma/client.ts';

const CategoryChangeFilter = z.object({ ids: z.array(Id).nullish() });

/** Returns a category as it was recorded. */
export const toCategory = (row: RecordedRow): Category => ({
  id: BigInt(valueOf(row, 'id')),
  name: valueOf(row, 'name'),
  description: row['description'] ?? null,
});

/** Returns what a filter requires of recorded categories. @throws InvalidId */
export const toCategoryFilter = (filter: Unchecked<typeof CategoryChangeFilter>): RowFilter =>
  isAmong('id', parse(CategoryChangeFilter, filter, 'filter').ids);
