import sql from 'sql-template-tag';

import type { GatewayError, Session } from '../../gateway/index.ts';
import type { Pet, PetStatus } from '../generated/prisma/client.ts';
import { InsufficientStock } from '../inventory/inventory.ts';
import { PetNotAvailable, PetNotFound, pets } from '../pet/pets.ts';
import { type NewOrder, type OrderAndPet, orders } from './orders.ts';

// How long orders that share a statement may wait for a lock.
const LOCK_TIMEOUT = '100ms';

/** A row of the statements below: a pet, its stock, and its new order unless the order was rejected. */
interface LineResult {
  /** Null if there is no inventory item, or if another transaction has locked it. */
  readonly stock: number | null;
}

const PET = pets.as('pet');
const PLACED = orders.as('placed');
const RESULT = sql`${PET.columns}, ${PLACED.columns}, stock.quantity as stock`;

function toResult(pet: Pet, row: LineResult): OrderAndPet | GatewayError {
  const order = PLACED.rowOf(row);
  if (order) return { ...order, pet };
  return rejectionOf({ petId: pet.id, status: pet.status, stock: row.stock });
}

/**
 * Returns the error for an order that cannot be fulfilled. `line` is the order's index in a cart. `status` is null if
 * the pet does not exist.
 */
export function rejectionOf(
  { petId, status, stock }: { petId: bigint; status: PetStatus | null; stock: number | null },
  line?: number,
): GatewayError {
  if (status === null) return new PetNotFound(petId, line);
  if (status !== 'available') return new PetNotAvailable(petId, line);
  return new InsufficientStock(petId, stock ?? 0, line);
}

/**
 * Takes the units of an order from its pet's stock and creates the order, atomically.
 *
 * One statement does both, so without an idempotency key, no transaction spans several round trips. The statement locks
 * the pet, then its stock, and reads their values under the locks, so the values cannot change before the statement
 * writes, however many gateways there are. The lock on the pet is shared, because it only has to keep the status from
 * changing: orders for the same pet wait for each other at its stock.
 * Concurrent writes do not deadlock (model/define-write.ts). The new stock is computed from the locked row
 * (`stock.quantity`): with `item.quantity`, PostgreSQL would apply the CHECK to the value from the start of the
 * statement, before it reads the current value.
 *
 * @throws PetNotFound, PetNotAvailable, InsufficientStock
 */
export async function takeUnits(
  { write }: Session,
  { petId, quantity, shipDate }: NewOrder,
): Promise<OrderAndPet> {
  const [row] = await write<LineResult>(sql`
    with pet as (
      select * from pets where id = ${petId} for share
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
      returning *
    )
    select ${RESULT} from pet left join stock on true left join placed on true`);
  const pet = row && PET.rowOf(row);
  if (!pet) throw new PetNotFound(petId);
  const result = toResult(pet, row);
  if (result instanceof Error) throw result;
  return result;
}

/**
 * Takes the units of several orders for different pets and creates the orders, each independently. Returns a new
 * order or an error for each line. A line that is missing from the result has to be placed on its own: its pet or
 * the pet's stock is missing or locked.
 *
 * The statement skips locked rows. If it has to wait for any other lock, such as one taken by an operator's trigger,
 * it fails after LOCK_TIMEOUT, so it cannot deadlock. Only a lock on a whole table can make it wait longer.
 *
 * The arrays are in subqueries, so PostgreSQL's plan does not depend on their lengths. Otherwise, PostgreSQL would plan
 * each statement again, which takes longer than placing eight orders. A new order is matched to its line by `pet_id`,
 * so triggers must not change that column.
 */
export async function takeFreeUnits(
  { write }: Session,
  lines: readonly NewOrder[],
): Promise<ReadonlyMap<NewOrder, OrderAndPet | GatewayError>> {
  const rows = await write<LineResult>(sql`
    with settings as materialized (
      select set_config('lock_timeout', ${LOCK_TIMEOUT}, true)
    ), lines as materialized (
      select line.* from settings, unnest(
        (select ${lines.map(({ petId }) => petId)}::bigint[]),
        (select ${lines.map(({ quantity }) => quantity)}::integer[]),
        (select ${lines.map(({ shipDate }) => shipDate)}::timestamptz[])
      ) as line (pet_id, quantity, ship_date)
    ), pet as (
      select * from pets
      where id = any((select array_agg(pet_id) from lines)::bigint[]) for share skip locked
    ), stock as (
      select pet_id, quantity from inventory_items
      where pet_id = any((select array_agg(id) from pet)::bigint[]) for update skip locked
    ), taken as (
      update inventory_items as item set quantity = stock.quantity - lines.quantity
      from lines join pet on pet.id = lines.pet_id join stock on stock.pet_id = lines.pet_id
      where item.pet_id = lines.pet_id and stock.quantity >= lines.quantity and pet.status = 'available'
      returning item.pet_id, lines.quantity, lines.ship_date
    ), placed as (
      insert into orders (pet_id, quantity, ship_date) select pet_id, quantity, ship_date from taken
      returning *
    )
    select ${RESULT} from pet left join stock on stock.pet_id = pet.id left join placed on placed.pet_id = pet.id`);
  const lineOf = new Map(lines.map((line) => [line.petId, line]));
  const results = new Map<NewOrder, OrderAndPet | GatewayError>();
  for (const row of rows) {
    const pet = PET.rowOf(row);
    const line = pet && lineOf.get(pet.id);
    // If the stock is null, its row may be locked.
    if (line && row.stock !== null) results.set(line, toResult(pet, row));
  }
  return results;
}
