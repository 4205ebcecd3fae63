import sql from 'sql-template-tag';
import type { z } from 'zod';

import {
  argumentsOf,
  createRepository,
  type Database,
  errorOf,
  filterBy,
  type GatewayError,
  Id,
  isOutOfRange,
  parseArguments,
  type Session,
  writeOnce,
} from '../../gateway/index.ts';
import type { InventoryItem, Order, Pet } from '../generated/prisma/client.ts';
import { inventoryItems, StockLimitExceeded } from '../inventory/inventory.ts';
import { ofPet, pets } from '../pet/pets.ts';
import { table } from '../tables.ts';
import { OrderQuantity } from '../values.ts';
import { rejectPastDates } from './ship-date.ts';

export const OrderComplete = errorOf(
  'ORDER_COMPLETE',
  409,
  'The order is complete, so it cannot be cancelled or rescheduled.',
  (id: bigint) => ({ message: `Order ${id} is complete, so it cannot be changed.` }),
);

/** The orders: how they are read, listed and followed, and what a new one has. */
export const orders = createRepository(table('Order'), {
  inputs: {
    petId: {},
    quantity: { rule: OrderQuantity },
    shipDate: {
      create:
        'The date and time of shipment, if it is known. It must not be more than a day in the past.',
    },
  },
  filters: ({ id, petId, quantity, complete, shipDate }) => ({
    ids: filterBy.oneOf(id, {
      list:
        'Only orders with one of these ids. Ids of orders that do not exist are ignored. An empty list ' +
        'matches no order.',
      changes: 'Only orders with one of these ids. An empty list matches none.',
    }),
    petId: filterBy.value(petId, {
      list: 'Only orders for the pet with this id.',
      changes: 'Only orders for the pet with this id.',
    }),
    petIds: filterBy.oneOf(petId, {
      list: 'Only orders for the pets with these ids. An empty list matches no order.',
      changes: 'Only orders for the pets with these ids. An empty list matches none.',
    }),
    petStatus: filterBy.related(
      ofPet,
      filterBy.oneOf(pets.fields.status, {
        list: 'Only orders for pets with one of these statuses. An empty list matches no order.',
      }),
    ),
    categoryIds: filterBy.related(
      ofPet,
      filterBy.oneOf(pets.fields.categoryId, {
        list: 'Only orders for pets of the categories with these ids. An empty list matches no order.',
      }),
    ),
    minQuantity: filterBy.min(quantity, {
      list: 'Only orders for at least this number of units.',
    }),
    maxQuantity: filterBy.max(quantity, {
      list: 'Only orders for at most this number of units.',
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
    hasShipDate: filterBy.isSet(shipDate, {
      list: 'Only orders with a date of shipment if true, only orders without one if false.',
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

/** What is left of an order that was cancelled. */
export interface CancelledOrder {
  readonly id: bigint;
  /** The stock that got its units back. */
  readonly inventory: InventoryItem;
}

const IdArguments = argumentsOf({ id: Id });
const RescheduleArguments = argumentsOf({
  id: Id,
  shipDate: orders.fields.shipDate.rule.nullable(),
});

/** Returns the error for an order that is not open. */
async function notOpenError({ query }: Session, id: bigint): Promise<GatewayError> {
  const [order] = await query(sql`select from orders where id = ${id}`);
  return order ? new OrderComplete(id) : new OrderNotFound(id);
}

/**
 * Sets the date of shipment of an open order, once for each idempotency key; null removes the date.
 * @throws InvalidInput, OrderNotFound, OrderComplete, IdempotencyConflict
 */
export async function rescheduleOrder(
  db: Database,
  args: object,
  caller: string | undefined,
): Promise<Order> {
  const { id, shipDate, idempotencyKey: key } = parseArguments(RescheduleArguments, args);
  const input = { id, shipDate };
  const request = { key, caller, operation: 'rescheduleOrder', input, upgrade: orders.upgrade };
  return writeOnce(db, request, async (session) => {
    rejectPastDates(args);
    const [order] = await session.write<Order>(sql`
      update orders set ship_date = ${shipDate}::timestamptz where id = ${id} and not complete
      returning ${orders.all}`);
    if (!order) throw await notOpenError(session, id);
    return order;
  });
}

/**
 * Completes an order, once for each idempotency key. If it is already complete, nothing changes.
 * @throws InvalidInput, OrderNotFound, IdempotencyConflict
 */
export async function completeOrder(
  db: Database,
  args: object,
  caller: string | undefined,
): Promise<Order> {
  const { id, idempotencyKey: key } = parseArguments(IdArguments, args);
  const input = { id };
  const request = { key, caller, operation: 'completeOrder', input, upgrade: orders.upgrade };
  return writeOnce(db, request, async ({ write }) => {
    const [order] = await write<Order>(
      sql`update orders set complete = true where id = ${id} returning ${orders.all}`,
    );
    if (!order) throw new OrderNotFound(id);
    return order;
  });
}

/**
 * Deletes an open order and returns its units to the stock, both or neither, once for each idempotency key.
 * @throws InvalidInput, OrderNotFound, OrderComplete, StockLimitExceeded, IdempotencyConflict
 */
export async function cancelOrder(
  db: Database,
  args: object,
  caller: string | undefined,
): Promise<CancelledOrder> {
  const { id, idempotencyKey: key } = parseArguments(IdArguments, args);
  const statement = sql`
    with cancelled as (
      delete from orders where id = ${id} and not complete returning pet_id, quantity
    ), restocked as (
      insert into inventory_items (pet_id, quantity) select * from cancelled
      on conflict (pet_id) do update set quantity = inventory_items.quantity + excluded.quantity
      returning ${inventoryItems.all}
    )
    select * from restocked`;
  const request = { key, caller, operation: 'cancelOrder', input: { id } };
  try {
    return await writeOnce(db, request, async (session) => {
      const [inventory] = await session.write<InventoryItem>(statement);
      if (!inventory) throw await notOpenError(session, id);
      return { id, inventory };
    });
  } catch (error) {
    throw isOutOfRange(error) ? new StockLimitExceeded(`the units of order ${id}`) : error;
  }
}
