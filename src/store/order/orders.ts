import sql from 'sql-template-tag';
import type { z } from 'zod';

import {
  createRepository,
  defineWrite,
  errorOf,
  filterBy,
  type GatewayError,
  groupBy,
  Id,
  isOutOfRange,
  type Session,
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

/** Reads, lists and follows orders, and validates new orders. */
export const orders = createRepository(table('Order'), {
  inputs: {
    petId: {},
    quantity: { rule: OrderQuantity },
    shipDate: {
      create: 'When the order ships, if known. Must not be more than a day in the past.',
      isLater: true,
    },
  },
  filters: ({ id, petId, quantity, complete, shipDate }) => ({
    ids: filterBy.oneOf(id, { only: 'with one of these ids', changes: true }),
    petId: filterBy.value(petId, { only: 'for the pet with this id', changes: true }),
    petIds: filterBy.oneOf(petId, { only: 'for the pets with these ids', changes: true }),
    petStatus: filterBy.related(
      ofPet,
      filterBy.oneOf(pets.fields.status, { only: 'for pets with one of these statuses' }),
    ),
    categoryIds: filterBy.related(
      ofPet,
      filterBy.oneOf(pets.fields.categoryId, { only: 'for pets in the categories with these ids' }),
    ),
    minQuantity: filterBy.min(quantity, { only: 'for at least this many units' }),
    maxQuantity: filterBy.max(quantity, { only: 'for at most this many units' }),
    complete: filterBy.value(complete, {
      only: 'that are complete if true, or open if false',
      changes: true,
    }),
    shipDate: filterBy.range(shipDate, { only: 'whose ship date is in this range' }),
    hasShipDate: filterBy.isSet(shipDate, {
      only: 'with a ship date if true, or without one if false',
    }),
  }),
  sorts: {
    id: 'Order by id.',
    shipDate: 'Order by ship date. Orders without a ship date count as the latest.',
  },
  groups: ({ petId, complete, shipDate, quantity }) => ({
    by: {
      petId: groupBy.value(petId),
      categoryId: groupBy.related(ofPet, pets.fields.categoryId),
      complete: groupBy.value(complete),
      shipDateDay: groupBy.day(shipDate),
      shipDateMonth: groupBy.month(shipDate),
    },
    sum: [quantity],
  }),
  errors: [OrderComplete],
});

export const { notFound: OrderNotFound, newRule: NewOrder } = orders;
export type NewOrder = z.output<typeof NewOrder>;

/** An order, and its pet if the same statement returned it. */
export type OrderAndPet = Order & { readonly pet?: Pet };

export interface CancelledOrder {
  readonly id: bigint;
  /** The stock after the units were returned. */
  readonly inventory: InventoryItem;
}

async function notOpenError({ query }: Session, id: bigint): Promise<GatewayError> {
  const [order] = await query(sql`select from orders where id = ${id}`);
  return order ? new OrderComplete(id) : new OrderNotFound(id);
}

/**
 * Sets the ship date of an open order, once per idempotency key. Null removes the date.
 * @throws InvalidInput, OrderNotFound, OrderComplete, IdempotencyConflict
 */
export const rescheduleOrder = defineWrite({
  operation: 'rescheduleOrder',
  args: {
    id: Id,
    shipDate: orders.fields.shipDate.rule
      .nullish()
      .nonoptional('is required: pass null to remove it.'),
  },
  stored: orders.normalize,
  write: async (session, args) => {
    rejectPastDates(args);
    const { id, shipDate } = args;
    const [order] = await session.write<Order>(sql`
      update orders set ship_date = ${shipDate}::timestamptz where id = ${id} and not complete
      returning ${orders.all}`);
    if (!order) throw await notOpenError(session, id);
    return order;
  },
});

/**
 * Completes an order, once per idempotency key. If it is already complete, nothing changes.
 * @throws InvalidInput, OrderNotFound, IdempotencyConflict
 */
export const completeOrder = defineWrite({
  operation: 'completeOrder',
  args: { id: Id },
  stored: orders.normalize,
  write: async ({ write }, { id }) => {
    const [order] = await write<Order>(
      sql`update orders set complete = true where id = ${id} returning ${orders.all}`,
    );
    if (!order) throw new OrderNotFound(id);
    return order;
  },
});

/**
 * Deletes an open order and returns its units to the stock, atomically and once per idempotency key. The pet is locked
 * before the order, in the order of all writes (model/define-write.ts).
 * @throws InvalidInput, OrderNotFound, OrderComplete, StockLimitExceeded, IdempotencyConflict
 */
export const cancelOrder = defineWrite({
  operation: 'cancelOrder',
  args: { id: Id },
  stored: ({ id, inventory }: CancelledOrder): CancelledOrder => ({
    id,
    inventory: inventoryItems.normalize(inventory),
  }),
  write: async (session, { id }) => {
    const [inventory] = await session.write<InventoryItem>(sql`
      with pet as (
        select id from pets where id = (select pet_id from orders where id = ${id}) for key share
      ), cancelled as (
        delete from orders where id = ${id} and pet_id = (select id from pet) and not complete
        returning pet_id, quantity
      ), restocked as (
        insert into inventory_items (pet_id, quantity) select * from cancelled
        on conflict (pet_id) do update set quantity = inventory_items.quantity + excluded.quantity
        returning ${inventoryItems.all}
      )
      select * from restocked`);
    if (!inventory) throw await notOpenError(session, id);
    return { id, inventory };
  },
  toError: (error, { id }) =>
    isOutOfRange(error) ? new StockLimitExceeded(`the units of order ${id}`) : error,
});
