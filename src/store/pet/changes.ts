import { z } from 'zod';

import { type RecordedRow, valueOf } from '../../changes/record.ts';
import { isAmong, isEqual, type RowFilter } from '../../changes/row-filter.ts';
import { Id, parse, type Unchecked } from '../../contract/values.ts';
import type { Pet } from '../../database/generated/prisma/client.ts';
import { DEFAULTS, Status } from './pets.ts';

const PetChangeFilter = z.object({
  ids: z.array(Id).nullish(),
  categoryId: Id.nullish(),
  status: z.array(Status).nullish(),
});

/** Returns a pet as it was recorded. */
export const toPet = (row: RecordedRow): Pet => ({
  id: BigInt(valueOf(row, 'id')),
  name: valueOf(row, 'name'),
  categoryId: BigInt(valueOf(row, 'category_id')),
  status: Status.parse(valueOf(row, 'status', DEFAULTS.status)),
});

/** Returns what a filter requires of recorded pets. @throws InvalidId, InvalidInput */
export function toPetFilter(filter: Unchecked<typeof PetChangeFilter>): RowFilter {
  const { ids, categoryId, status } = parse(PetChangeFilter, filter, 'filter');
  return [
    ...isAmong('id', ids),
    ...isEqual('category_id', categoryId),
    ...isAmong('status', status, DEFAULTS.status),
  ];
}
