import etag from 'etag';
import { z } from 'zod';

import type { Database } from '../database/database.ts';
import type { Order } from '../database/generated/prisma/client.ts';
import { isUnchanged } from '../etag.ts';
import { InvalidInput, PetNotFound, StoreError } from '../errors.ts';
import { deprecationHeaders, PET_BY_ID } from '../lifecycle.ts';
import { ordersAfter } from '../order/orders.ts';
import { petsByIds } from '../pet/pets.ts';
import type { Stopping } from '../stop.ts';
import { Id, parse, parseId } from '../values.ts';
import { type Answer, errorAnswer, type Question, type Route } from './answer.ts';
import { orderToJson, petToJson } from './json.ts';

const MAX_PAGE = 1000;
const LIMIT_RULE = `has to be 1 to ${MAX_PAGE}.`;

const OrdersQuery = z.object({
  limit: z
    .string()
    .regex(/^[0-9]{1,4}$/, LIMIT_RULE)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= MAX_PAGE, LIMIT_RULE)
    .default(MAX_PAGE),
  after: Id.optional(),
});

async function getPet(db: Database, { parameters, headers }: Question): Promise<Answer> {
  const id = parseId(parameters['petId'] ?? '', 'petId');
  const [pet] = await petsByIds(db, [id]);
  if (!pet) throw new PetNotFound(id);
  const body = petToJson(pet);
  const validators = { ETag: etag(body), 'Cache-Control': 'no-cache' };
  const unchanged = isUnchanged(headers, validators.ETag);
  return { status: unchanged ? 304 : 200, headers: validators, body: unchanged ? '' : body };
}

/** All orders as one JSON array, a page in memory at a time. */
async function* writeOrders(db: Database, first: Order[]): AsyncGenerator<string> {
  let page = first;
  yield `[${page.map(orderToJson).join(',')}`;
  while (page.length === MAX_PAGE) {
    page = await ordersAfter(db, page.at(-1)?.id ?? 0n, MAX_PAGE);
    if (page.length > 0) yield `,${page.map(orderToJson).join(',')}`;
  }
  yield ']';
}

async function getOrders(db: Database, { query }: Question): Promise<Answer> {
  for (const name of ['limit', 'after']) {
    if (query.getAll(name).length > 1) {
      throw new InvalidInput([{ path: [name], message: 'can be given once.' }]);
    }
  }
  if (!query.has('limit') && !query.has('after')) {
    return { status: 200, body: writeOrders(db, await ordersAfter(db, -1n, MAX_PAGE)) };
  }
  const { limit, after } = parse(OrdersQuery, Object.fromEntries(query));
  const rows = await ordersAfter(db, after ?? -1n, limit + 1);
  const page = rows.slice(0, limit);
  const next = `</store/orders?limit=${limit}&after=${page.at(-1)?.id}>; rel="next"`;
  return {
    status: 200,
    headers: rows.length > limit ? { Link: next } : {},
    body: `[${page.map(orderToJson).join(',')}]`,
  };
}

async function getReady(db: Database, stopping: Stopping): Promise<Answer> {
  if (stopping.now) {
    return errorAnswer(new StoreError('SERVICE_UNAVAILABLE', 'The gateway is stopping.'));
  }
  try {
    await db.ping();
  } catch (error) {
    throw new StoreError('SERVICE_UNAVAILABLE', undefined, error);
  }
  return { status: 200, body: JSON.stringify({ status: 'ready' }) };
}

/** Every path that is REST. */
export const createRoutes = (db: Database, sunset: Date, stopping: Stopping): Route[] => [
  {
    path: /^\/pets\/(?<petId>[^/]+)$/,
    headers: deprecationHeaders(PET_BY_ID, sunset),
    get: (question) => getPet(db, question),
  },
  { path: /^\/store\/orders$/, get: (question) => getOrders(db, question) },
  {
    path: /^\/health$/,
    get: async () => ({ status: 200, body: JSON.stringify({ status: 'alive' }) }),
  },
  { path: /^\/ready$/, get: () => getReady(db, stopping) },
];
