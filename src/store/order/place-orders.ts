import sql from 'sql-template-tag';

import { defineWrite, linesOf, rowsOfLines, type Session } from '../../gateway/index.ts';
import { pets } from '../pet/pets.ts';
import { NewOrder, type OrderAndPet, orders } from './orders.ts';
import { rejectPastDates } from './ship-date.ts';
import { rejectionOf } from './take-units.ts';

const PET = pets.as('pet');
const PLACED = orders.as('placed');

interface Line {
  readonly petId: bigint;
  /** Null if there is no inventory item. */
  readonly stock: number | null;
  readonly isServed: boolean;
}

/**
 * Places an order for each line, all or nothing, and returns the orders in the order of the lines.
 * @throws InvalidInput, PetNotFound, PetNotAvailable, InsufficientStock, IdempotencyConflict
 */
export const placeOrders = defineWrite({
  operation: 'placeOrders',
  args: { input: linesOf(NewOrder) },
  digested: ({ input }) => input,
  stored: orders.normalizeAll,
  write: async (session, args): Promise<OrderAndPet[]> => {
    rejectPastDates(args.input, 'input');
    return takeLines(session, args.input);
  },
});

/**
 * Takes the units of all lines from the stock and creates an order for each line: all or nothing. Returns the orders
 * with their pets.
 *
 * As in takeUnits, one statement does both. It locks all pets, then all their stock, both in the order of the pets' ids
 * (model/define-write.ts). The ids to lock come from subqueries, which run first (`= any((select …))`); with a join,
 * PostgreSQL could lock the stock of one pet before it locks another pet. `needed` is the number of units that a line and
 * the earlier lines for the same pet need in total.
 *
 * New ids follow the order of the lines, because `order by` is applied before the id's default.
 *
 * @throws PetNotFound, PetNotAvailable, InsufficientStock
 */
async function takeLines({ write }: Session, lines: readonly NewOrder[]): Promise<OrderAndPet[]> {
  const cart = rowsOfLines(
    { pet_id: 'bigint', quantity: 'integer', ship_date: 'timestamptz' },
    lines.map(({ petId, quantity, shipDate }) => [petId, quantity, shipDate]),
  );
  const rows = await write<Line>(sql`
    with lines as materialized (${cart}), pet as (
      select * from pets
      where id = any((select array_agg(pet_id) from lines)::bigint[]) order by id for share
    ), stock as (
      select pet_id, quantity from inventory_items
      where pet_id = any((select array_agg(id) from pet)::bigint[]) order by pet_id for update
    ), claims as materialized (
      select lines.*, stock.quantity as stock,
        coalesce(pet.status = 'available' and stock.quantity >= lines.needed, false) as is_served
      from (
        select *, sum(quantity) over (partition by pet_id order by index) as needed from lines
      ) as lines
      left join pet on pet.id = lines.pet_id left join stock on stock.pet_id = lines.pet_id
    ), rest as materialized (
      select pet_id, min(stock - needed)::integer as quantity from claims
      where (select bool_and(is_served) from claims) group by pet_id
    ), taken as (
      update inventory_items as item set quantity = rest.quantity
      from rest where item.pet_id = rest.pet_id
      returning item.pet_id
    ), placed as (
      insert into orders (pet_id, quantity, ship_date)
      select claims.pet_id, claims.quantity, claims.ship_date
      from claims join taken on taken.pet_id = claims.pet_id order by claims.index
      returning *
    )
    select claims.pet_id as "petId", claims.stock, claims.is_served as "isServed",
      ${PET.columns}, ${PLACED.columns}
    from claims left join pet on pet.id = claims.pet_id left join (
      select row_number() over (order by id) - 1 as index, * from placed
    ) as placed on placed.index = claims.index
    order by claims.index`);
  for (const [index, row] of rows.entries()) {
    const status = PET.rowOf(row)?.status ?? null;
    if (!row.isServed) throw rejectionOf({ ...row, status }, index);
  }
  return rows.flatMap((row) => {
    const pet = PET.rowOf(row);
    const order = PLACED.rowOf(row);
    return pet && order ? { ...order, pet } : [];
  });
}
