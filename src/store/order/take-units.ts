import {
  InsufficientStock,
  PetNotAvailable,
  PetNotFound,
  type StoreError,
} from '../../contract/errors.ts';
import { type Order, type Pet, Prisma } from '../../database/generated/prisma/client.ts';
import type { Session } from '../../database/session.ts';
import type { NewOrder, OrderAndPet } from './orders.ts';

/** A new order and its pet, as most callers select it. */
export interface PlacedOrder {
  readonly order: Order;
  readonly pet: Pet;
}

/** Adds the pet to an order. One that was stored under its idempotency key is another object, without a pet. */
export const withPet = (order: Order, placed: PlacedOrder | undefined): OrderAndPet =>
  placed?.order === order ? { ...order, pet: placed.pet } : order;

/** What became of a line: a row of the statements below. */
interface Outcome extends Omit<Pet, 'id' | 'status'> {
  /** Null if the pet does not exist. */
  readonly status: Pet['status'] | null;
  /** Null if there is no inventory entry. */
  readonly stock: number | null;
  /** The new order; null, as `complete`, if there is none. */
  readonly id: bigint | null;
  readonly shipDate: Date | null;
  readonly complete: boolean | null;
}

/** Returns the new order of a line; undefined if the line was not placed. */
function placedOrder(
  { petId, quantity }: NewOrder,
  outcome: Outcome | undefined,
): PlacedOrder | undefined {
  if (!outcome) return undefined;
  const { id, shipDate, complete, name, categoryId, status } = outcome;
  if (id === null || complete === null || status === null) return undefined;
  return {
    order: { id, petId, quantity, shipDate, complete },
    pet: { id: petId, name, categoryId, status },
  };
}

/** Returns the error for a line that can't be served; `index` is its place in a cart. */
function refusalOf({ petId }: NewOrder, outcome: Outcome | undefined, index?: number): StoreError {
  if (!outcome || outcome.status === null) return new PetNotFound(petId, index);
  if (outcome.status !== 'available') return new PetNotAvailable(petId, index);
  return new InsufficientStock(petId, outcome.stock ?? 0, index);
}

/**
 * Takes the units of an order from the stock of its pet and creates the order, both or neither.
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
export async function takeUnits({ query }: Session, line: NewOrder): Promise<PlacedOrder> {
  const { petId, quantity, shipDate } = line;
  const [outcome] = await query<Outcome>(Prisma.sql`
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
  const placed = placedOrder(line, outcome);
  if (!placed) throw refusalOf(line, outcome);
  return placed;
}

/** The outcome of one of several lines. */
interface LineOutcome extends Outcome {
  /** Whether its units are there, for this line and those before it. */
  readonly isServed: boolean;
}

/** When lines that can be served are placed, and what happens with rows that are locked. */
interface Terms {
  readonly condition: Prisma.Sql;
  readonly ifLocked: Prisma.Sql;
}

const ALL_OR_NONE: Terms = {
  condition: Prisma.raw('(select bool_and(is_served) from claims)'),
  ifLocked: Prisma.raw(''),
};
const EACH_THAT_IS_FREE: Terms = {
  condition: Prisma.raw('true'),
  ifLocked: Prisma.raw('skip locked'),
};

/**
 * Takes the units of several lines from the stock and creates their orders; returns the outcome of each.
 *
 * One statement does all, as in takeUnits. It locks all pets, then all their stock, each in the order of
 * the ids of the pets: statements that lock the same rows wait for each other in that order, whatever the
 * order of their lines, so there are no deadlocks. The ids to lock are subqueries that run first
 * (`= any((select …))`); with a join, PostgreSQL could lock the stock of one pet before another pet.
 * `needed` is what a line and the lines before it take from its pet.
 *
 * The arrays are subqueries too, so that PostgreSQL can't plan for their lengths: it would plan each
 * statement anew, which takes longer than placing eight orders.
 *
 * New ids are in the order of the lines, as `order by` is applied before the default of the id.
 */
const takeAllUnits = (
  { query }: Session,
  lines: readonly NewOrder[],
  { condition, ifLocked }: Terms,
): Promise<LineOutcome[]> =>
  query(Prisma.sql`
    with lines as materialized (
      select * from unnest(
        (select ${lines.map(({ petId }) => petId)}::bigint[]),
        (select ${lines.map(({ quantity }) => quantity)}::integer[]),
        (select ${lines.map(({ shipDate }) => shipDate)}::timestamptz[])
      ) with ordinality as line (pet_id, quantity, ship_date, index)
    ), pet as (
      select id, name, category_id, status from pets
      where id = any((select array_agg(pet_id) from lines)::bigint[])
      order by id for share ${ifLocked}
    ), stock as (
      select pet_id, quantity from inventory_items
      where pet_id = any((select array_agg(id) from pet)::bigint[])
      order by pet_id for update ${ifLocked}
    ), claims as materialized (
      select lines.*, pet.name, pet.category_id, pet.status, stock.quantity as stock,
        coalesce(pet.status = 'available' and stock.quantity >= lines.needed, false) as is_served
      from (
        select *, sum(quantity) over (partition by pet_id order by index) as needed from lines
      ) as lines
      left join pet on pet.id = lines.pet_id left join stock on stock.pet_id = lines.pet_id
    ), rest as materialized (
      select pet_id, min(stock - needed)::integer as quantity from claims
      where is_served and ${condition} group by pet_id
    ), taken as (
      update inventory_items as item set quantity = rest.quantity
      from rest where item.pet_id = rest.pet_id
      returning item.pet_id
    ), placed as (
      insert into orders (pet_id, quantity, ship_date)
      select claims.pet_id, claims.quantity, claims.ship_date
      from claims join taken on taken.pet_id = claims.pet_id
      where claims.is_served order by claims.index
      returning id, ship_date, complete
    )
    select claims.name, claims.category_id as "categoryId", claims.status, claims.stock,
      claims.is_served as "isServed", placed.id, placed.ship_date as "shipDate", placed.complete
    from (
      select *, row_number() over (partition by is_served order by index) as place from claims
    ) as claims left join (
      select *, row_number() over (order by id) as place from placed
    ) as placed on claims.is_served and placed.place = claims.place
    order by claims.index`);

/**
 * Places all lines or none.
 * @throws PetNotFound, PetNotAvailable, InsufficientStock
 */
export async function takeLines(
  session: Session,
  lines: readonly NewOrder[],
): Promise<PlacedOrder[]> {
  const outcomes = await takeAllUnits(session, lines, ALL_OR_NONE);
  for (const [index, line] of lines.entries()) {
    const outcome = outcomes[index];
    if (!outcome?.isServed) throw refusalOf(line, outcome, index);
  }
  return lines.flatMap((line, index) => placedOrder(line, outcomes[index]) ?? []);
}

/**
 * Places each line whose units are there and not locked; the others are undefined. It waits for no
 * transaction: one that holds a lock delays only those who want the same pet.
 */
export async function takeFreeLines(
  session: Session,
  lines: readonly NewOrder[],
): Promise<(PlacedOrder | undefined)[]> {
  const outcomes = await takeAllUnits(session, lines, EACH_THAT_IS_FREE);
  return lines.map((line, index) => placedOrder(line, outcomes[index]));
}
