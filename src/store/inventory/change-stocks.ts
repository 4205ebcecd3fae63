import sql from 'sql-template-tag';
import { z } from 'zod';

import {
  defineWrite,
  type GatewayError,
  Id,
  isDuplicate,
  linesOf,
  MAX_LINES,
  onlyRow,
  rowsOfLines,
  type Session,
} from '../../gateway/index.ts';
import type { InventoryItem } from '../generated/prisma/client.ts';
import { PetNotFound } from '../pet/pets.ts';
import { MAX_QUANTITY, StockQuantity } from '../values.ts';
import {
  Adjustment,
  InsufficientStock,
  inventoryItems,
  InventoryUpdate,
  StaleInventory,
  StockLimitExceeded,
  toUnits,
} from './inventory.ts';

const Count = z.object({
  petId: Id,
  quantity: StockQuantity,
  expectedQuantity: StockQuantity.nullable().default(null),
});

/** The new stock of a pet: either the number of units, or the number of units to add. */
interface StockLine {
  readonly petId: bigint;
  readonly quantity?: number;
  readonly expectedQuantity?: number | null;
  readonly by?: number;
}

interface Claim {
  readonly exists: boolean;
  /** 0 if there is no inventory row. */
  readonly available: number;
  readonly isFresh: boolean;
  /** The new stock, which may be out of range. */
  readonly quantity: bigint;
}

function findError(
  { petId, by = 0 }: StockLine,
  claim: Claim,
  line: number | null,
): GatewayError | null {
  if (!claim.exists) return new PetNotFound(petId, line);
  if (!claim.isFresh) return new StaleInventory(petId, claim.available, line);
  if (claim.quantity < 0n) return new InsufficientStock(petId, claim.available, line);
  const isTooLarge = claim.quantity > MAX_QUANTITY;
  return isTooLarge ? new StockLimitExceeded(`${toUnits(by)} of pet ${petId}`, line) : null;
}

/**
 * Sets or adjusts the stock of several pets, all or nothing, and creates missing inventory rows.
 *
 * As in placeOrders, the statement locks all pets, then their stock, both in the order of the pets' ids. If another
 * transaction creates one of the missing rows in the meantime, the whole statement fails with a duplicate key error.
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
    const error = claim && findError(line, claim, hasLines ? index : null);
    if (error || !claim) throw error ?? new Error('A line has no result.');
    return { petId: line.petId, quantity: Number(claim.quantity) };
  });
}

/**
 * Retries a write if another transaction created one of its inventory rows in the meantime. A retry finds that row, so each
 * line can cause only one failure.
 */
const retryDuplicates =
  <Args extends readonly unknown[], Result>(write: (...args: Args) => Promise<Result>) =>
  async (...args: Args): Promise<Result> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await write(...args);
      } catch (error) {
        if (attempt > MAX_LINES || !isDuplicate(error)) throw error;
      }
    }
  };

/** Defines a write to the stock of one pet; `toLine` turns its arguments into a line. */
const defineStockWrite = <const Shape extends z.ZodRawShape>(
  operation: string,
  args: Shape,
  toLine: (args: z.output<z.ZodObject<Shape>>) => StockLine,
) =>
  retryDuplicates(
    defineWrite({
      operation,
      args,
      digested: toLine,
      stored: inventoryItems.normalize,
      write: async (session, parsed) =>
        onlyRow(await changeStocks(session, [toLine(parsed)], false)),
    }),
  );

const defineStocksWrite = (operation: string, Line: z.ZodType<StockLine>) =>
  retryDuplicates(
    defineWrite({
      operation,
      args: { input: linesOf(Line, 'petId') },
      digested: ({ input }) => input,
      stored: inventoryItems.normalizeAll,
      write: (session, { input }) => changeStocks(session, input, true),
    }),
  );

/**
 * Sets the stock of a pet, and creates its inventory row if there is none. If `expectedQuantity` is set and differs
 * from the current stock, nothing changes. Without a row, the stock counts as 0.
 * @throws InvalidInput, PetNotFound, StaleInventory, IdempotencyConflict
 */
export const updateInventory = defineStockWrite(
  'updateInventory',
  {
    petId: Id,
    input: InventoryUpdate,
    expectedQuantity: StockQuantity.nullable().default(null),
  },
  ({ petId, input, expectedQuantity }) => ({ petId, ...input, expectedQuantity }),
);

/**
 * Adds units to the stock of a pet, or removes units if `by` is negative. The stock cannot fall below 0. Without an
 * inventory row, the stock counts as 0.
 * @throws InvalidInput, PetNotFound, InsufficientStock, StockLimitExceeded, IdempotencyConflict
 */
export const adjustInventory = defineStockWrite(
  'adjustInventory',
  { petId: Id, by: Adjustment },
  (line) => line,
);

/**
 * Sets the stock of several pets: all or nothing.
 * @throws InvalidInput, PetNotFound, StaleInventory, IdempotencyConflict
 */
export const updateInventories = defineStocksWrite('updateInventories', Count);

/**
 * Adds units to the stock of several pets, or removes units: all or nothing.
 * @throws InvalidInput, PetNotFound, InsufficientStock, StockLimitExceeded, IdempotencyConflict
 */
export const adjustInventories = defineStocksWrite(
  'adjustInventories',
  z.object({ petId: Id, by: Adjustment }),
);
