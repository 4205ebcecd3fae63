import sql from 'sql-template-tag';
import { z } from 'zod';

import {
  byId,
  Id,
  isAmong,
  isEqual,
  isOutOfRange,
  isRecordNotFound,
  type Listing,
  pagesByParent,
  pagesOf,
  parse,
  parseId,
  type RowFilter,
  Time,
  type Unchecked,
  errorOf,
} from '../../gateway/index.ts';
import type { Order, Pet } from '../generated/prisma/client.ts';
import { StockLimitExceeded } from '../inventory/inventory.ts';
import type { Database } from '../prisma.ts';
import { table, TABLES } from '../tables.ts';
import { OrderQuantity } from '../values.ts';
import { hasBound, isShippedIn, shipDateKey, TimeRange } from './ship-date.ts';

export const orders = table(TABLES.Order);

export class OrderNotFound extends errorOf('ORDER_NOT_FOUND', 404, 'The order does not exist.') {
  constructor(id: bigint) {
    super(`There is no order ${id}.`);
  }
}

export class OrderComplete extends errorOf(
  'ORDER_COMPLETE',
  409,
  'The order is complete, so it cannot be cancelled or rescheduled.',
) {
  constructor(id: bigint) {
    super(`Order ${id} is complete, so it cannot be changed.`);
  }
}

export const NewOrder = z.object({
  petId: Id,
  quantity: OrderQuantity,
  shipDate: Time.nullable().default(null),
});
export type NewOrder = z.output<typeof NewOrder>;

/** The conditions for lists and for changes. */
const OrderFilter = z.object({
  ids: z.array(Id).nullish(),
  petId: Id.nullish(),
  complete: z.boolean().nullish(),
  shipDate: TimeRange.nullish(),
});

const orderListing: Listing<Order, Unchecked<typeof OrderFilter>, 'ID' | 'SHIP_DATE'> = {
  table: orders,
  keys: {
    ID: null,
    SHIP_DATE: shipDateKey,
  },
  defaultField: 'ID',
  where: (filter) => {
    const { petId, complete, shipDate } = parse(OrderFilter, filter, 'filter');
    const conditions = isShippedIn(shipDate);
    if (petId != null) conditions.push(sql`pet_id = ${petId}`);
    if (complete != null) conditions.push(complete ? sql`complete` : sql`not complete`);
    return conditions;
  },
  isSearch: ({ shipDate }) => hasBound(shipDate),
  isSkewed: ({ shipDate }) => hasBound(shipDate),
};

export const orderById = byId('order', orders);
export const orderPages = pagesOf(orderListing);
export const orderPagesByPet = pagesByParent('ordersByPet', orderListing, {
  column: 'pet_id',
  of: (order) => order.petId,
});

/** An order, with its pet if that was read too. */
export type OrderAndPet = Order & { readonly pet?: Pet };

/** Returns the error for an order that is not open. */
async function notOpenError(db: Database, id: bigint): Promise<OrderNotFound | OrderComplete> {
  const [order] = await db.query(sql`select from orders where id = ${id}`);
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
  // Not by Prisma, which does not tell an infinite date from an invalid one.
  const [order] = await db.write<Order>(
    sql`update orders set complete = true where id = ${id} returning ${orders.all}`,
  );
  if (!order) throw new OrderNotFound(id);
  return order;
}

/**
 * Deletes an open order and returns its units to the stock, both or neither.
 * @throws InvalidId, OrderNotFound, OrderComplete, StockLimitExceeded
 */
export async function cancelOrder(db: Database, orderId: string): Promise<Order> {
  const id = parseId(orderId, 'id');
  const statement = sql`
    with cancelled as (
      delete from orders where id = ${id} and not complete returning ${orders.all}
    ), restocked as (
      insert into inventory_items (pet_id, quantity)
      select cancelled."petId", cancelled.quantity from cancelled
      on conflict (pet_id) do update set quantity = inventory_items.quantity + excluded.quantity
    )
    select * from cancelled`;
  try {
    const [order] = await db.write<Order>(statement);
    if (order) return order;
  } catch (error) {
    throw isOutOfRange(error) ? new StockLimitExceeded(`the units of order ${id}`) : error;
  }
  throw await notOpenError(db, id);
}

/** Returns what a filter requires of recorded orders. @throws InvalidId */
export function toOrderFilter(filter: object): RowFilter {
  const { ids, petId, complete } = parse(OrderFilter, filter, 'filter');
  return [
    ...isAmong('id', ids),
    ...isEqual('pet_id', petId),
    ...isEqual('complete', complete, orders.defaults.complete),
  ];
}
