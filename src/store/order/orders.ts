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
import type { Database } from '../../database/database.ts';
import { isOutOfRange, isRecordNotFound } from '../../database/errors.ts';
import { type Order, type Pet, Prisma } from '../../database/generated/prisma/client.ts';
import { type CallerKey, writeOnce } from '../../database/idempotency.ts';
import type { Listing, Parent } from '../../database/listing.ts';
import { byId, pagesByParent, pagesOf } from '../../database/loaders.ts';
import type { Session } from '../../database/session.ts';
import { columnsOf, rowsByIds, type Table } from '../../database/table.ts';
import { hasBound, isShippedIn, shipDateKey, TimeRange } from './ship-date.ts';

export const NewOrder = z.object({
  petId: Id,
  quantity: OrderQuantity,
  shipDate: Time.nullable().default(null),
});
const OrderFilter = z.object({
  petId: Id.nullish(),
  complete: z.boolean().nullish(),
  shipDate: TimeRange.nullish(),
});

const TABLE: Table<Order> = {
  name: 'orders',
  columns: {
    id: 'id',
    petId: 'pet_id',
    quantity: 'quantity',
    shipDate: 'ship_date',
    complete: 'complete',
  },
  id: { column: 'id', of: ({ id }) => id },
};
const COLUMNS = columnsOf(TABLE);

/** The list of orders. */
const orderListing: Listing<Order, Unchecked<typeof OrderFilter>, 'ID' | 'SHIP_DATE'> = {
  table: TABLE,
  keys: {
    ID: null,
    SHIP_DATE: shipDateKey,
  },
  defaultField: 'ID',
  where: (filter) => {
    const { petId, complete, shipDate } = parse(OrderFilter, filter, 'filter');
    const conditions = isShippedIn(shipDate);
    if (petId != null) conditions.push(Prisma.sql`pet_id = ${petId}`);
    if (complete != null)
      conditions.push(complete ? Prisma.sql`complete` : Prisma.sql`not complete`);
    return conditions;
  },
  isSearch: ({ shipDate }) => hasBound(shipDate),
  isSkewed: ({ shipDate }) => hasBound(shipDate),
};

/** Orders belong to a pet. */
const byPet: Parent<Order> = {
  column: 'pet_id',
  of: (order) => order.petId,
};

export const orderById = byId('order', TABLE);
export const orderPages = pagesOf(orderListing);
export const orderPagesByPet = pagesByParent('ordersByPet', orderListing, byPet);

/** An order, with its pet if that was read too. */
export type OrderAndPet = Order & { readonly pet?: Pet };

/** The result of the statement in takeUnits. Without a new order, `id` and `complete` are null. */
interface Placement extends Omit<Pet, 'id'> {
  readonly stock: number | null;
  readonly id: bigint | null;
  readonly shipDate: Date | null;
  readonly complete: boolean | null;
}

/**
 * Places an order, once for each idempotency key.
 * @throws InvalidId, InvalidInput, PetNotFound, PetNotAvailable, InsufficientStock,
 * IdempotencyConflict
 */
export async function placeOrder(
  db: Database,
  input: Unchecked<typeof NewOrder>,
  write: CallerKey,
): Promise<OrderAndPet> {
  const data = parse(NewOrder, input, 'input');
  const { shipDate, ...undated } = data;
  // Without a date it is the input of release 1.0.0, so that a retry of its callers is recognized.
  const request = { ...write, operation: 'placeOrder', input: shipDate === null ? undated : data };
  let placed: { order: Order; pet: Pet } | undefined;
  const order = await writeOnce(db, request, async (session) => {
    placed = await takeUnits(session, data);
    return placed.order;
  });
  // A stored order is another object, without its pet.
  return placed?.order === order ? { ...order, pet: placed.pet } : order;
}

/**
 * Takes the units from the stock of the pet and creates the order, both or neither. Also returns the
 * pet, as most callers select it.
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
): Promise<{ order: Order; pet: Pet }> {
  const [placement] = await query<Placement>(Prisma.sql`
    with pet as (
      select id, name, category_id, status from pets where id = ${petId} for share
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
      returning id, ship_date, complete
    )
    select pet.name, pet.category_id as "categoryId", pet.status, stock.quantity as stock,
      placed.id, placed.ship_date as "shipDate", placed.complete
    from pet left join stock on true left join placed on true`);
  if (!placement) throw new PetNotFound(petId);
  const { name, categoryId, status, stock, id, complete } = placement;
  if (id !== null && complete !== null) {
    const order = { id, petId, quantity, shipDate: placement.shipDate, complete };
    return { order, pet: { id: petId, name, categoryId, status } };
  }
  if (status !== 'available') throw new PetNotAvailable(petId);
  throw new InsufficientStock(petId, stock ?? 0);
}

const readOrders = rowsByIds(TABLE);

/** Returns the error for an order that is not open. */
async function notOpenError(db: Database, id: bigint): Promise<OrderNotFound | OrderComplete> {
  const [order] = await readOrders(db, [id]);
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
    throw isOutOfRange(error) ? new StockLimitExceeded(`the units of order ${id}`) : error;
  }
  throw await notOpenError(db, id);
}
