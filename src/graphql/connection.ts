import type { Page } from '../database/pages.ts';
import { builder } from './builder.ts';

const OrderDirection = builder.enumType('OrderDirection', {
  description: 'Which end of an order comes first.',
  values: {
    ASC: { description: 'Smallest first.' },
    DESC: { description: 'Largest first.' },
  },
});

/** Makes the input type `…Order` of a list, from what it can be ordered by. */
export function orderInput<Field extends string>(
  name: string,
  fields: Record<Field, { description: string }>,
) {
  const FieldEnum = builder.enumType(`${name}OrderField`, {
    description: 'What the list can be ordered by.',
    values: fields,
  });
  return builder.inputType(`${name}Order`, {
    description: 'How to order the list; the id breaks ties.',
    fields: (t) => ({
      field: t.field({ type: FieldEnum, required: true, description: 'What to order by.' }),
      direction: t.field({
        type: OrderDirection,
        required: true,
        defaultValue: 'ASC',
        description: 'Which end comes first.',
      }),
    }),
  });
}

/** A page as a connection: `count` runs only if totalCount is asked for. */
export async function toConnection<Row>(
  page: Promise<Page<Row>>,
  count: () => Promise<number>,
): Promise<Page<Row> & { totalCount: () => Promise<number> }> {
  return { ...(await page), totalCount: count };
}
