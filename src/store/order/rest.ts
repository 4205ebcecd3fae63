import { z } from 'zod';

import {
  type Context,
  InvalidInput,
  parse,
  type RestOperation,
  type RouteRequest,
  type RouteResponse,
  RowId,
  type Session,
} from '../../gateway/index.ts';
import { type OrdersAsJson, ordersAsJson } from './orders-as-json.ts';

const MAX_PAGE = 1000;
// Less than any id.
const BEFORE_ALL = -(2n ** 63n);
const LIMIT_RULE = `must be between 1 and ${MAX_PAGE}.`;

const Query = z.object({
  limit: z
    .string()
    .regex(/^[0-9]{1,4}$/, LIMIT_RULE)
    .transform(Number)
    .pipe(z.int32().min(1, LIMIT_RULE).max(MAX_PAGE, LIMIT_RULE))
    .optional()
    .meta({
      description: `The maximum number of orders; ${MAX_PAGE} if only \`after\` is set.`,
      example: 100,
    }),
  after: RowId.optional().meta({
    description:
      'Only orders with an id greater than this. Pass the id of the last order on the previous ' +
      'page.',
    example: 3,
  }),
});

/** Yields all orders as one JSON array, with one page in memory at a time. */
async function* writeOrders(db: Session, first: OrdersAsJson): AsyncGenerator<string> {
  let page = first;
  yield page.json.slice(0, -1);
  while (page.more && page.last !== null) {
    page = await ordersAsJson(db, page.last, MAX_PAGE);
    if (page.last !== null) yield `,${page.json.slice(1, -1)}`;
  }
  yield ']';
}

/** @throws InvalidInput for the first parameter that is unknown or set twice */
function checkNames(query: URLSearchParams): void {
  for (const name of query.keys()) {
    if (!Object.hasOwn(Query.shape, name)) {
      throw new InvalidInput([{ path: [name], message: 'is not a known parameter.' }]);
    }
    if (query.getAll(name).length > 1) {
      throw new InvalidInput([{ path: [name], message: 'must not be set more than once.' }]);
    }
  }
}

async function respondWithOrders(
  { source: { db } }: Context,
  { query }: RouteRequest,
): Promise<RouteResponse> {
  checkNames(query);
  if (!query.has('limit') && !query.has('after')) {
    return { status: 200, body: writeOrders(db, await ordersAsJson(db, BEFORE_ALL, MAX_PAGE)) };
  }
  const { limit = MAX_PAGE, after = BEFORE_ALL } = parse(Query, Object.fromEntries(query));
  const { json, last, more } = await ordersAsJson(db, after, limit);
  const next = `<../store/orders?limit=${limit}&after=${last}>; rel="next"`;
  return { status: 200, headers: more ? { Link: next } : {}, body: json };
}

/** GET /store/orders */
export const listOrders: RestOperation = {
  name: 'GET /store/orders',
  id: 'listOrders',
  // The route is beta, because the API specification does not contain paging.
  lifecycle: { stability: 'beta', successor: 'Query.orders' },
  tag: { name: 'Store', description: 'The orders in the store.' },
  summary: 'List orders',
  description:
    'Streams all orders. With `limit` or `after`, returns one page and, unless it is the last, a `Link` to the next page. ' +
    'Rejects any other query parameter with `INVALID_INPUT`.',
  parameters: { path: z.object({}), query: Query },
  result: { resource: 'Orders', description: 'The orders, sorted by id.', headers: {} },
  errors: ['INVALID_ID', 'INVALID_INPUT'],
  migration: {
    request: '/store/orders?limit=2',
    query: `query ListOrders {
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
      'Ids are strings: "1".',
      'If shipDate is not set, it is null instead of omitted.',
      'A page has at most 100 orders. To get the next page, pass the endCursor of this page as the argument "after".',
      'Orders can be filtered, for example by pet or by whether they are complete, and sorted by ship date.',
    ],
  },
  get: respondWithOrders,
};
