import { z } from 'zod';

import type { Context } from '../context.ts';
import type { Database } from '../database/database.ts';
import { InvalidInput } from '../contract/errors.ts';
import type { RouteResponse, RouteRequest } from '../http/route.ts';
import { type OrdersAsJson, ordersAsJson } from '../store/order/orders.ts';
import { Id, parse } from '../contract/values.ts';
import type { RestOperation } from './operation.ts';

const MAX_PAGE = 1000;
const LIMIT_RULE = `has to be 1 to ${MAX_PAGE}.`;

const Query = z.object({
  limit: z
    .string()
    .regex(/^[0-9]{1,4}$/, LIMIT_RULE)
    .transform(Number)
    .pipe(z.int32().min(1, LIMIT_RULE).max(MAX_PAGE, LIMIT_RULE))
    .optional()
    .meta({
      description: `How many orders, ${MAX_PAGE} where only \`after\` is given.`,
      example: 100,
    }),
  after: Id.optional().meta({
    description: 'Only orders with a larger id: that of the last one seen.',
    example: 3,
  }),
});

/** All orders as one JSON array, a page in memory at a time. */
async function* writeOrders(db: Database, first: OrdersAsJson): AsyncGenerator<string> {
  let page = first;
  yield page.json.slice(0, -1);
  while (page.more && page.last !== null) {
    page = await ordersAsJson(db, page.last, MAX_PAGE);
    if (page.last !== null) yield `,${page.json.slice(1, -1)}`;
  }
  yield ']';
}

async function answerOrders(
  { store: { db } }: Context,
  { query }: RouteRequest,
): Promise<RouteResponse> {
  for (const name of Object.keys(Query.shape)) {
    if (query.getAll(name).length > 1) {
      throw new InvalidInput([{ path: [name], message: 'can be given once.' }]);
    }
  }
  if (!query.has('limit') && !query.has('after')) {
    return { status: 200, body: writeOrders(db, await ordersAsJson(db, -1n, MAX_PAGE)) };
  }
  const { limit = MAX_PAGE, after = -1n } = parse(Query, Object.fromEntries(query));
  const { json, last, more } = await ordersAsJson(db, after, limit);
  const next = `</store/orders?limit=${limit}&after=${last}>; rel="next"`;
  return { status: 200, links: more ? [next] : [], body: json };
}

/** GET /store/orders */
export const listOrders: RestOperation = {
  name: 'GET /store/orders',
  id: 'listOrders',
  tag: 'Store',
  summary: 'Orders',
  description:
    'Answers every order, as a stream; with `limit` or `after` a page, and a `Link` to the next.',
  parameters: { path: z.object({}), query: Query },
  result: { schema: 'Orders', description: 'The orders, by id.', headers: {} },
  errors: ['INVALID_ID', 'INVALID_INPUT'],
  migration: {
    request: '/store/orders?limit=2',
    query: `{
  orders(first: 2) {
    nodes {
      id
      petId
      quantity
      shipDate
      complete
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}`,
    differences: [
      'Identifiers are strings: "1".',
      'A date that is not settled is null, not left out.',
      'There is always a page, of 100 orders at most. For the next one give its endCursor as after.',
      'Orders can be filtered by pet and by complete, and ordered by the date they ship.',
    ],
  },
  get: answerOrders,
};
