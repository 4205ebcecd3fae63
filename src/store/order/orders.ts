import { z } from 'zod';

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
import type { Database, Session } from '../../database/database.ts';
import { isOutOfRange, isRecordNotFound } from '../../database/errors.ts';
import { type Order, type PetStatus, Prisma } from '../../database/generated/prisma/client.ts';
import { type CallerKey, writeOnce } from '../../database/idempotency.ts';
import type { Listing, Parent } from '../../database/listing.ts';
import { byId, pagesByParent, pagesOf } from '../../database/loaders.ts';

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
    // An order without a date counts as the latest.
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

/** A page of orders as a JSON array. */
export interface OrdersAsJson {
  readonly json: string;
  /** The id of the last order; null if the page is empty. */
  readonly last: bigint | null;
  /** Whether more orders follow. */
  readonly more: boolean;
}

/**
 * Returns at most `limit` orders with ids greater than `after`, by id, as REST returns them.
 * PostgreSQL writes the JSON: for a thousand rows that is ten times as fast as in Node.js.
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

/** The result of the statement in takeUnits. Without a new order, its columns are null. */
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
 * Takes the units from the stock of the pet and creates the order, both or neither.
 *
 * One statement does both, so no transaction spans several round trips. The statement locks the pet,
 * then its stock, and reads their values after it has the locks: the values cannot change before it
 * writes, with any number of gateways. The lock on the pet is shared: orders for one pet do not wait
 * for each other there, but its status cannot change. All statements lock the pet before the stock,
 * so there are no deadlocks. The new stock is computed from the locked row (`stock.quantity`). With
 * `item.quantity`, PostgreSQL would apply the CHECK to the value from the start of the statement
 * before it reads the current value.
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

/** Returns the error for an order that is not open. */
async function notOpenError(db: Database, id: bigint): Promise<OrderNotFound | OrderComplete> {
  const [order] = await ordersByIds(db, [id]);
  return order ? new OrderComplete(id) : new OrderNotFound(id);
}

/**
 * Sets the date of shipment of an open order; null removes the date.
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
      { path: ['shipDate'], message: 'must be a date, or null for no date.' },
    ]);
  }
  const shipDate = parse(Time.nullable(), date, 'shipDate');
  try {
    return await db.prisma.order.update({ where: { id, complete: false }, data: { shipDate } });
  } catch (error) {
    throw isRecordNotFound(error) ? await notOpenError(db, id) : error;
  }
}

/**
 * Completes an order. If it is already complete, nothing changes.
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
 * Deletes an open order and returns its units to the stock, both or neither.
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
  throw await notOpenError(db, id);
}
