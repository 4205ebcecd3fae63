import sql from 'sql-template-tag';
import type { z } from 'zod';

import {
  createRepository,
  errorOf,
  filterBy,
  type GatewayError,
  isOutOfRange,
  isRecordNotFound,
  parse,
  parseId,
} from '../../gateway/index.ts';
import type { Order, Pet } from '../generated/prisma/client.ts';
import { StockLimitExceeded } from '../inventory/inventory.ts';
import type { Database } from '../prisma.ts';
import { table, TABLES } from '../tables.ts';
import { OrderQuantity } from '../values.ts';

export const OrderComplete = errorOf(
  'ORDER_COMPLETE',
  409,
  'The order is complete, so it cannot be cancelled or rescheduled.',
  (id: bigint) => ({ message: `Order ${id} is complete, so it cannot be changed.` }),
);

/** The orders: how they are read, listed and followed, and what a new one has. */
export const orders = createRepository(table(TABLES.Order), {
  inputs: {
    petId: {},
    quantity: { rule: OrderQuantity },
    shipDate: { create: 'The date and time of shipment, if it is known.' },
  },
  filters: ({ id, petId, complete, shipDate }) => ({
    ids: filterBy.oneOf(id, {
      changes: 'Only orders with one of these ids. An empty list matches none.',
    }),
    petId: filterBy.value(petId, {
      list: 'Only orders for the pet with this id.',
      changes: 'Only orders for the pet with this id.',
    }),
    complete: filterBy.value(complete, {
      list: 'Only complete orders if true, only open orders if false.',
      changes: 'Only complete orders if true, only open ones if false.',
    }),
    shipDate: filterBy.range(shipDate, {
      list:
        'Only orders whose date of shipment is in this range. An order without a date is in no ' +
        'range. A range without bounds matches every order, also those without a date.',
    }),
  }),
  sorts: {
    id: 'Order by id.',
    shipDate: 'Order by date of shipment. An order without one counts as the latest.',
  },
  errors: [OrderComplete],
});

export const { notFound: OrderNotFound, newRule: NewOrder } = orders;
export type NewOrder = z.output<typeof NewOrder>;

/** An order, with its pet if that was read too. */
export type OrderAndPet = Order & { readonly pet?: Pet };

/** Returns the error for an order that is not open. */
async function notOpenError(db: Database, id: bigint): Promise<GatewayError> {
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
  const shipDate = parse(orders.fields.shipDate.rule.nullable(), date, 'shipDate');
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
