import sql from 'sql-template-tag';
import type { z } from 'zod';

import {
  createRepository,
  type Database,
  errorOf,
  filterBy,
  isOutOfRange,
  parse,
  parseId,
} from '../../gateway/index.ts';
import type { Order, Pet } from '../generated/prisma/client.ts';
import { StockLimitExceeded } from '../inventory/inventory.ts';
import { table, TABLES } from '../tables.ts';
import { OrderQuantity } from '../values.ts';

export class OrderNotFound extends errorOf(
  'ORDER_NOT_FOUND',
  404,
  'The order does not exist.',
  (id: bigint) => `There is no order ${id}.`,
) {}

export class OrderComplete extends errorOf(
  'ORDER_COMPLETE',
  409,
  'The order is complete, so it cannot be cancelled or rescheduled.',
  (id: bigint) => `Order ${id} is complete, so it cannot be changed.`,
) {}

const orderTable = table(TABLES.Order);
const { id: idField, petId: petIdField, complete, shipDate: shipDateField } = orderTable.fields;

/** The orders: how they are read, listed and followed, and what a new one has. */
export const orders = createRepository(orderTable, {
  words: { one: 'an order', short: 'order', all: 'orders' },
  inputs: {
    petId: { create: 'The id of the pet.' },
    quantity: { create: 'The number of units ordered, 1 or more.', rule: OrderQuantity },
    shipDate: { create: 'The date and time of shipment, if it is known.' },
  },
  filters: {
    ids: filterBy.oneOf(idField, {
      changes: 'Only orders with one of these ids. An empty list matches none.',
    }),
    petId: filterBy.value(petIdField, {
      list: 'Only orders for the pet with this id.',
      changes: 'Only orders for the pet with this id.',
    }),
    complete: filterBy.value(complete, {
      list: 'Only complete orders if true, only open orders if false.',
      changes: 'Only complete orders if true, only open ones if false.',
    }),
    shipDate: filterBy.range(shipDateField, {
      list:
        'Only orders whose date of shipment is in this range. An order without a date is in no ' +
        'range. A range without bounds matches every order, also those without a date.',
    }),
  },
  sorts: {
    ID: { by: 'id', description: 'Order by id.' },
    SHIP_DATE: {
      by: 'shipDate',
      description: 'Order by date of shipment. An order without one counts as the latest.',
    },
  },
  notFound: OrderNotFound,
  errors: [OrderComplete],
});

export const NewOrder = orders.newRule;
export type NewOrder = z.output<typeof NewOrder>;

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
  const shipDate = parse(shipDateField.rule.nullable(), date, 'shipDate');
  const [order] = await db.write<Order>(
    sql`update orders set ship_date = ${shipDate}
      where id = ${id} and not complete returning ${orders.all}`,
  );
  if (!order) throw await notOpenError(db, id);
  return order;
}

/**
 * Completes an order. If it is already complete, nothing changes.
 * @throws InvalidId, OrderNotFound
 */
export async function completeOrder(db: Database, orderId: string): Promise<Order> {
  const id = parseId(orderId, 'id');
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
