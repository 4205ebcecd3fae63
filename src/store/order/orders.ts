import { z } from 'zod';

import type { Database, Session } from '../../database/database.ts';
import { isOutOfRange, isRecordNotFound } from '../../database/errors.ts';
import { type Order, type PetStatus, Prisma } from '../../database/generated/prisma/client.ts';
import { type CallerKey, writeOnce } from '../../database/idempotency.ts';
import type { Listing, Parent } from '../../database/listing.ts';
import { byId, pagesByParent, pagesOf } from '../../database/loaders.ts';
import {
  InsufficientStock,
  InvalidInput,
  OrderComplete,
  OrderNotFound,
  PetNotAvailable,
  PetNotFound,
  StockLimitExceeded,
} from '../../contract/errors.ts';
import { Id, OrderQuantity, parse, parseId, Time, type Unchecked } from '../../contract/values.ts';

export const NewOrder = z.object({
  petId: Id,
  quantity: OrderQuantity,
  shipDate: Time.nullable().default(null),
});
const OrderFilter = z.object({ petId: Id.nullish(), complete: z.boolean().nullish() });

const COLUMNS = Prisma.sql`id, pet_id as "petId", quantity, ship_date as "shipDate", complete`;
const LATEST = 'infinity';

/** The list of orders. */
const orderListing: Listing<Order, Unchecked<typeof OrderFilter>, 'ID' | 'SHIP_DATE'> = {
  from: Prisma.sql`orders`,
  columns: COLUMNS,
  id: { sql: Prisma.sql`id`, of: (order) => order.id },
  keys: {
    ID: null,
    // An order without a date comes after all that have one.
    SHIP_DATE: {
      sql: Prisma.sql`coalesce(ship_date, 'infinity'::timestamptz)`,
      of: (order) => order.shipDate?.toISOString() ?? LATEST,
      text: z.iso
        .datetime({ precision: 3 })
        .refine((text) => Time.safeParse(new Date(text)).success)
        .or(z.literal(LATEST)),
      cast: Prisma.sql`::text::timestamptz`,
    },
  },
  defaultField: 'ID',
  where: (filter) => {
    const { petId, complete } = parse(OrderFilter, filter, 'filter');
    const conditions = [];
    if (petId != null) conditions.push(Prisma.sql`pet_id = ${petId}`);
    if (complete != null) conditions.push(Prisma.sql`complete = ${complete}`);
    return conditions;
  },
  isSearch: () => false,
};

/** Orders belong to a pet. */
const byPet: Parent<Order> = {
  sql: Prisma.sql`pet_id`,
  of: (order) => order.petId,
};

const ordersByIds = (db: Database, ids: readonly bigint[]): Promise<Order[]> =>
  db.query(Prisma.sql`select ${COLUMNS} from orders where id = any(${ids}::bigint[])`);

export const orderById = byId('order', ordersByIds, ({ id }) => id);
export const orderPages = pagesOf(orderListing);
export const orderPagesByPet = pagesByParent('ordersByPet', orderListing, byPet);

/** Orders as a JSON array, and where it ends. */
export interface OrdersAsJson {
  readonly json: string;
  /** The id of the last one; null where there is none. */
  readonly last: bigint | null;
  readonly more: boolean;
}

/**
 * The next orders by id, at most `limit`, after the order `after`, as REST shows them. PostgreSQL
 * writes the JSON: to make a thousand rows of it here takes ten times as long.
 */
export async function ordersAsJson(
  db: Database,
  after: bigint,
  limit: number,
): Promise<OrdersAsJson> {
  const [page] = await db.query<OrdersAsJson>(Prisma.sql`
    select
      '[' || coalesce(string_agg(
        '{"id":' || id || ',"petId":' || pet_id || ',"quantity":' || quantity
          || coalesce(',"shipDate":"' || to_char(ship_date at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', '')
          || ',"complete":' || complete || '}', ','), '') || ']' as json,
      max(id) as last,
      (select id from orders where id > max(page.id) order by id limit 1) is not null as more
    from (select * from orders where id > ${after} order by id limit ${limit}) as page`);
  return page ?? { json: '[]', last: null, more: false };
}

/** What the statement of placeOrder found and did: the order's columns are null if it made none. */
type Placement = { status: PetStatus; stock: number | null } & {
  [Column in keyof Order]: Order[Column] | null;
};

/**
 * Places an order, once for each idempotency key.
 * @throws InvalidId, InvalidInput, PetNotFound, PetNotAvailable, InsufficientStock,
 * IdempotencyConflict
 */
export async function placeOrder(
  db: Database,
  input: Unchecked<typeof NewOrder>,
  write: CallerKey,
): Promise<Order> {
  const order = parse(NewOrder, input, 'input');
  const request = { ...write, operation: 'placeOrder', input: order };
  return writeOnce(db, request, (session) => takeUnits(session, order));
}

/**
 * Takes the units from the pet's stock and makes the order, both or neither.
 *
 * One statement does it all. It locks the pet (shared, so that orders don't wait for each other
 * there, but its status can't change meanwhile), then the stock entry (alone), and reads both as
 * they are once locked; so what it decides on is still true when it writes, with any number of
 * gateways and without a transaction that spans round trips. Locks are always taken in this
 * order, pet before stock, so that two statements never wait for each other. The new stock is
 * counted from the locked row: counted from item.quantity, PostgreSQL would hold what it was when
 * the statement began against the CHECK, before it looks for what it is by now.
 *
 * @throws PetNotFound, PetNotAvailable, InsufficientStock
 */
async function takeUnits(
  { query }: Session,
  { petId, quantity, shipDate }: z.output<typeof NewOrder>,
): Promise<Order> {
  const [placement] = await query<Placement>(Prisma.sql`
    with pet as (
      select pets.id, pets.status from pets where pets.id = ${petId} for share
    ), stock as (
      select item.pet_id, item.quantity from inventory_items as item
      where item.pet_id = (select pet.id from pet) for update
    ), taken as (
      update inventory_items as item set quantity = stock.quantity - ${quantity}::integer
      from stock, pet
      where item.pet_id = stock.pet_id and stock.quantity >= ${quantity} and pet.status = 'available'
      returning item.pet_id
    ), placed as (
      insert into orders (pet_id, quantity, ship_date)
      select taken.pet_id, ${quantity}, ${shipDate}::timestamptz from taken
      returning ${COLUMNS}
    )
    select pet.status, stock.quantity as stock, placed.* from pet
    left join stock on true left join placed on true`);
  if (!placement) throw new PetNotFound(petId);
  const { status, stock, id, complete } = placement;
  if (id !== null && complete !== null) {
    return { id, petId, quantity, shipDate: placement.shipDate, complete };
  }
  if (status !== 'available') throw new PetNotAvailable(petId);
  throw new InsufficientStock(petId, stock ?? 0);
}

/** Why an order that should be open is not. */
async function whyNotOpen(db: Database, id: bigint): Promise<OrderNotFound | OrderComplete> {
  const [order] = await ordersByIds(db, [id]);
  return order ? new OrderComplete(id) : new OrderNotFound(id);
}

/**
 * Sets or, with null, clears the date an open order ships.
 * @throws InvalidId, InvalidInput, OrderNotFound, OrderComplete
 */
export async function rescheduleOrder(
  db: Database,
  orderId: string,
  date: Date | null | undefined,
): Promise<Order> {
  const id = parseId(orderId, 'id');
  if (date === undefined) {
    throw new InvalidInput([
      { path: ['shipDate'], message: 'has to be a date, or null for none.' },
    ]);
  }
  const shipDate = parse(Time.nullable(), date, 'shipDate');
  try {
    return await db.prisma.order.update({ where: { id, complete: false }, data: { shipDate } });
  } catch (error) {
    throw isRecordNotFound(error) ? await whyNotOpen(db, id) : error;
  }
}

/**
 * Completes an order; one that is complete stays as it is.
 * @throws InvalidId, OrderNotFound
 */
export async function completeOrder(db: Database, orderId: string): Promise<Order> {
  const id = parseId(orderId, 'id');
  try {
    return await db.prisma.order.update({ where: { id }, data: { complete: true } });
  } catch (error) {
    throw isRecordNotFound(error) ? new OrderNotFound(id) : error;
  }
}

/**
 * Removes an open order and gives its units back to the stock, both or neither.
 * @throws InvalidId, OrderNotFound, OrderComplete, StockLimitExceeded
 */
export async function cancelOrder(db: Database, orderId: string): Promise<Order> {
  const id = parseId(orderId, 'id');
  const statement = Prisma.sql`
    with cancelled as (
      delete from orders where id = ${id} and not complete returning ${COLUMNS}
    ), restocked as (
      insert into inventory_items (pet_id, quantity)
      select cancelled."petId", cancelled.quantity from cancelled
      on conflict (pet_id) do update set quantity = inventory_items.quantity + excluded.quantity
    )
    select * from cancelled`;
  try {
    const [order] = await db.query<Order>(statement);
    if (order) return order;
  } catch (error) {
    throw isOutOfRange(error) ? new StockLimitExceeded(id) : error;
  }
  throw await whyNotOpen(db, id);
}
