import sql from 'sql-template-tag';
import { z } from 'zod';

import {
  argumentsOf,
  type Database,
  type GatewayError,
  Id,
  isDuplicate,
  linesOf,
  onlyRow,
  parseArguments,
  rowsOfLines,
  type Session,
  writeOnce,
} from '../../gateway/index.ts';
import type { InventoryItem } from '../generated/prisma/client.ts';
import { PetNotFound } from '../pet/pets.ts';
import { StockQuantity } from '../values.ts';
import {
  Adjustment,
  InsufficientStock,
  inventoryItems,
  InventoryUpdate,
  StaleInventory,
  StockLimitExceeded,
} from './inventory.ts';

const Count = z.object({
  petId: Id,
  quantity: StockQuantity,
  expectedQuantity: StockQuantity.nullable().default(null),
});
const UpdateArguments = argumentsOf({ input: linesOf(Count, 'petId') });
const AdjustArguments = argumentsOf({
  input: linesOf(z.object({ petId: Id, by: Adjustment }), 'petId'),
});

const UpdateOneArguments = argumentsOf({
  petId: Id,
  input: InventoryUpdate,
  expectedQuantity: StockQuantity.nullable().default(null),
});
const AdjustOneArguments = argumentsOf({ petId: Id, by: Adjustment });

/** The new stock of a pet: either the number of units, or the number to add. */
interface StockLine {
  readonly petId: bigint;
  readonly quantity?: number;
  readonly expectedQuantity?: number | null;
  readonly by?: number;
}

/** A result row of the statement in changeStocks. */
interface Claim {
  readonly exists: boolean;
  /** 0 if there is no inventory row. */
  readonly available: number;
  readonly isFresh: boolean;
  /** The new stock, which may be out of range. */
  readonly quantity: bigint;
}

const MAX_QUANTITY = 2_147_483_647n;

/** Returns the error of a line that cannot be written; otherwise null. */
function errorOf(
  { petId, by = 0 }: StockLine,
  claim: Claim,
  line: number | null,
): GatewayError | null {
  if (!claim.exists) return new PetNotFound(petId, line);
  if (!claim.isFresh) return new StaleInventory(petId, claim.available, line);
  if (claim.quantity < 0n) return new InsufficientStock(petId, claim.available, line);
  const isTooLarge = claim.quantity > MAX_QUANTITY;
  return isTooLarge ? new StockLimitExceeded(`${by} units of pet ${petId}`, line) : null;
}

/**
 * Sets or adjusts the stock of several pets, all or none, and creates missing inventory rows.
 *
 * The statement locks all pets, then their stock, both in the order of the pets' ids, as placeOrders does. If
 * another transaction creates one of the rows in the meantime, the whole statement fails with a duplicate key.
 * @throws PetNotFound, StaleInventory, InsufficientStock, StockLimitExceeded
 */
async function changeStocks(
  { write }: Session,
  lines: readonly StockLine[],
  hasLines: boolean,
): Promise<InventoryItem[]> {
  const rows = rowsOfLines(
    { pet_id: 'bigint', quantity: 'bigint', expected: 'bigint', change: 'bigint' },
    lines.map(({ petId, quantity, expectedQuantity, by }) => [
      petId,
      quantity,
      expectedQuantity,
      by,
    ]),
  );
  const claims = await write<Claim>(sql`
    with lines as materialized (${rows}), pet as (
      select id from pets
      where id = any((select array_agg(pet_id) from lines)::bigint[]) order by id for key share
    ), stock as (
      select pet_id, quantity from inventory_items
      where pet_id = any((select array_agg(id) from pet)::bigint[]) order by pet_id for update
    ), claims as materialized (
      select lines.index, lines.pet_id, pet.id is not null as "exists",
        stock.pet_id is null as is_new, coalesce(stock.quantity, 0) as available,
        coalesce(lines.expected = coalesce(stock.quantity, 0), true) as "isFresh",
        coalesce(lines.quantity, coalesce(stock.quantity, 0) + lines.change) as quantity
      from lines left join pet on pet.id = lines.pet_id left join stock on stock.pet_id = lines.pet_id
    ), served as materialized (
      select pet_id, is_new, quantity::integer as quantity from claims where (
        select bool_and("exists" and "isFresh" and quantity between 0 and ${MAX_QUANTITY}) from claims)
    ), updated as (
      update inventory_items as item set quantity = served.quantity
      from served where item.pet_id = served.pet_id and not served.is_new
    ), inserted as (
      insert into inventory_items (pet_id, quantity)
      select pet_id, quantity from served where is_new order by pet_id
    )
    select "exists", available, "isFresh", quantity from claims order by index`);
  return lines.map((line, index) => {
    const claim = claims[index];
    const error = claim && errorOf(line, claim, hasLines ? index : null);
    if (error || !claim) throw error ?? new Error('A line has no result.');
    return { petId: line.petId, quantity: Number(claim.quantity) };
  });
}

// The retry finds the row, so the same row does not cause a second failure.
const MAX_ATTEMPTS = 3;

/** Retries a write if another transaction created one of its inventory rows in the meantime. */
async function retryDuplicates<Result>(write: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !isDuplicate(error)) throw error;
    }
  }
}

const upgradeAll = (stored: InventoryItem[]): InventoryItem[] => stored.map(inventoryItems.upgrade);

type Key = string | null | undefined;

/** Changes the stock of one pet, once per idempotency key. */
const changeStock = (
  db: Database,
  [operation, input]: readonly [operation: string, input: StockLine],
  [key, caller]: readonly [key: Key, caller: string | undefined],
): Promise<InventoryItem> => {
  const { upgrade } = inventoryItems;
  return retryDuplicates(() =>
    writeOnce(db, { key, caller, operation, input, upgrade }, async (session) =>
      onlyRow(await changeStocks(session, [input], false)),
    ),
  );
};

/** Changes the stock of several pets, all or none, once per idempotency key. */
const changeAll = (
  db: Database,
  [operation, input]: readonly [operation: string, input: readonly StockLine[]],
  [key, caller]: readonly [key: Key, caller: string | undefined],
): Promise<InventoryItem[]> => {
  return retryDuplicates(() =>
    writeOnce(db, { key, caller, operation, input, upgrade: upgradeAll }, (session) =>
      changeStocks(session, input, true),
    ),
  );
};

/**
 * Sets the stock of a pet, and creates its inventory row if there is none. With an `expectedQuantity`, changes
 * the stock only if it equals that; the stock is 0 if there is no row.
 * @throws InvalidInput, PetNotFound, StaleInventory, IdempotencyConflict
 */
export function updateInventory(
  db: Database,
  args: object,
  caller: string | undefined,
): Promise<InventoryItem> {
  const parsed = parseArguments(UpdateOneArguments, args);
  const { petId, input, expectedQuantity, idempotencyKey: key } = parsed;
  const line = { petId, ...input, expectedQuantity };
  return changeStock(db, ['updateInventory', line], [key, caller]);
}

/**
 * Adds units to the stock of a pet, or removes them if `by` is negative, but never below 0. The stock is 0 if
 * there is no inventory row.
 * @throws InvalidInput, PetNotFound, InsufficientStock, StockLimitExceeded, IdempotencyConflict
 */
export function adjustInventory(
  db: Database,
  args: object,
  caller: string | undefined,
): Promise<InventoryItem> {
  const { petId, by, idempotencyKey: key } = parseArguments(AdjustOneArguments, args);
  return changeStock(db, ['adjustInventory', { petId, by }], [key, caller]);
}

/**
 * Sets the stock of several pets, all or none.
 * @throws InvalidInput, PetNotFound, StaleInventory, IdempotencyConflict
 */
export function updateInventories(
  db: Database,
  args: object,
  caller: string | undefined,
): Promise<InventoryItem[]> {
  const { input, idempotencyKey: key } = parseArguments(UpdateArguments, args);
  return changeAll(db, ['updateInventories', input], [key, caller]);
}

/**
 * Adds units to the stock of several pets, or removes units, all or none.
 * @throws InvalidInput, PetNotFound, InsufficientStock, StockLimitExceeded, IdempotencyConflict
 */
export function adjustInventories(
  db: Database,
  args: object,
  caller: string | undefined,
): Promise<InventoryItem[]> {
  const { input, idempotencyKey: key } = parseArguments(AdjustArguments, args);
  return changeAll(db, ['adjustInventories', input], [key, caller]);
}
