import pLimit, { type LimitFunction } from 'p-limit';

import type { CallContext } from '../context.ts';
import type { ListArguments } from '../database/listing.ts';
import type { Page } from '../database/pages.ts';
import type { Pages, PagesByParent } from '../database/loaders.ts';
import { builder } from './builder.ts';

const SortDirection = builder.enumType('SortDirection', {
  description: 'Which end of the list comes first.',
  values: {
    ASC: { description: 'Smallest first.' },
    DESC: { description: 'Largest first.' },
  },
});

/** Makes the input type `…Sort` of a list, from what it can be ordered by. */
export function sortInput<Field extends string>(
  name: string,
  fields: Record<Field, { description: string }>,
) {
  const FieldEnum = builder.enumType(`${name}SortField`, {
    description: 'What the list can be ordered by.',
    values: fields,
  });
  return builder.inputType(`${name}Sort`, {
    description: 'How to order the list; the id breaks ties.',
    fields: (t) => ({
      field: t.field({ type: FieldEnum, required: true, description: 'What to order by.' }),
      direction: t.field({
        type: SortDirection,
        required: true,
        defaultValue: 'ASC',
        description: 'Which end comes first.',
      }),
    }),
  });
}

/** A page, and how many rows the whole list has if that is asked for. */
type ListConnection<Row> = Promise<Page<Row> & { totalCount: () => Promise<number> }>;

// Statements for lists and counts that one request may have running: others need connections too.
const MAX_STATEMENTS = 4;

const limits = new WeakMap<CallContext, LimitFunction>();

/** The limit of a request. */
function limitOf(context: CallContext): LimitFunction {
  const limit = limits.get(context) ?? pLimit(MAX_STATEMENTS);
  limits.set(context, limit);
  return limit;
}

/** A page of a list. */
export async function rootConnection<Row, Filter, Field extends string>(
  context: CallContext,
  { pages, counts }: Pages<Row, Filter, Field>,
  args: ListArguments<Filter, Field>,
): ListConnection<Row> {
  const limit = limitOf(context);
  const page = await pages.load(context.store, args, limit);
  return { ...page, totalCount: () => counts.load(context.store, args.filter, limit) };
}

/** A page of the rows that belong to a parent. */
export async function nestedConnection<Row, Filter, Field extends string>(
  context: CallContext,
  { pages, counts }: PagesByParent<Row, Filter, Field>,
  parent: bigint,
  args: ListArguments<Filter, Field>,
): ListConnection<Row> {
  const limit = limitOf(context);
  const page = await pages.load(context.store, { parent, args }, limit);
  return {
    ...page,
    totalCount: () => counts.load(context.store, { parent, args: args.filter }, limit),
  };
}
