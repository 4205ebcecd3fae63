import sql, { join } from 'sql-template-tag';
import { z } from 'zod';

import {
  byId,
  type CallerKey,
  Id,
  isAmong,
  isAtMost,
  isMissingReference,
  isOutOfRange,
  type Listing,
  pagesOf,
  parse,
  parseId,
  type RowFilter,
  type Session,
  type Unchecked,
  writeOnce,
  errorOf,
} from '../../gateway/index.ts';
import type { InventoryItem } from '../generated/prisma/client.ts';
import { lineErrorOf } from '../line-error.ts';
import { hasStatus, Status, PetNotFound } from '../pet/pets.ts';
import type { Database } from '../prisma.ts';
import { table, TABLES } from '../tables.ts';
import { StockQuantity } from '../values.ts';

export const inventoryItems = table(TABLES.InventoryItem);

export class InsufficientStock extends lineErrorOf(
  'INSUFFICIENT_STOCK',
  409,
  'The stock has too few units.',
) {
  readonly available: number;

  constructor(petId: bigint, available: number, line: number | null = null) {
    super(`Pet ${petId} has ${available} units in stock.`, line);
    this.available = available;
  }
}

export class StockLimitExceeded extends errorOf(
  'STOCK_LIMIT_EXCEEDED',
  409,
  'The stock would exceed 2147483647 units.',
) {
  constructor(units: string) {
    super(`With ${units}, the stock would exceed 2147483647 units.`);
  }
}

export class StaleInventory extends errorOf(
  'STALE_INVENTORY',
  409,
  'The stock does not have the expected quantity.',
) {
  readonly available: number;

  constructor(petId: bigint, available: number) {
    super(`Pet ${petId} now has ${available} units in stock.`);
    this.available = available;
  }
}

export const InventoryUpdate = z.object({ quantity: StockQuantity });
const Adjustment = z.int32('must be a whole number.').refine((by) => by !== 0, 'must not be 0.');
/** The conditions for lists and for changes. */
const InventoryFilter = z.object({
  petIds: z.array(Id).nullish(),
  status: z.array(Status).nullish(),
  categoryId: Id.nullish(),
  minQuantity: z.int().nullish(),
  maxQuantity: z.int().nullish(),
});

const inventoryListing: Listing<
  InventoryItem,
  Unchecked<typeof InventoryFilter>,
  'PET_ID' | 'QUANTITY'
> = {
  table: inventoryItems,
  keys: {
    PET_ID: null,
    QUANTITY: {
      sql: sql`quantity`,
      of: (item) => String(item.quantity),
      asText: sql`quantity::text`,
      text: z
        .string()
        .regex(/^[0-9]+$/)
        .refine((text) => StockQuantity.safeParse(Number(text)).success),
      cast: sql`::integer`,
    },
  },
  defaultField: 'PET_ID',
  where: (filter, idBounds) => {
    const { status, categoryId, minQuantity, maxQuantity } = parse(
      InventoryFilter,
      filter,
      'filter',
    );
    const conditions = [];
    const ofPet = [];
    if (status != null) ofPet.push(hasStatus(status));
    if (categoryId != null) ofPet.push(sql`pets.category_id = ${categoryId}`);
    if (ofPet.length > 0) {
      const isMet = join([...ofPet, ...idBounds(sql`pets.id`)], ' and ');
      conditions.push(sql`exists (select from pets where pets.id = pet_id and ${isMet})`);
    }
    if (minQuantity != null) conditions.push(sql`quantity >= ${minQuantity}`);
    if (maxQuantity != null) conditions.push(sql`quantity <= ${maxQuantity}`);
    return conditions;
  },
  isSearch: ({ status, categoryId }) => (status ?? categoryId) != null,
  isSkewed: ({ categoryId, minQuantity, maxQuantity }) =>
    categoryId != null || (minQuantity ?? maxQuantity) != null,
};

export const inventoryByPetId = byId('inventoryItem', inventoryItems);
export const inventoryPages = pagesOf(inventoryListing);

/**
 * Sets the stock if it is the expected one. A pet without an entry has a stock of 0.
 *
 * The insert creates the entry. If the entry exists, `on conflict` locks it, and only then compares
 * the stock, so that of two callers who expect the same stock, only one changes it.
 * @throws PetNotFound, StaleInventory
 */
async function compareAndSet(
  db: Database,
  { petId, quantity }: InventoryItem,
  expected: number,
): Promise<InventoryItem> {
  const [item] = await db.write<InventoryItem>(sql`
    insert into inventory_items (pet_id, quantity)
    select pets.id, ${quantity}::integer from pets where pets.id = ${petId}
      and (${expected}::integer = 0 or exists (select from inventory_items where pet_id = ${petId}))
    on conflict (pet_id) do update set quantity = excluded.quantity
      where inventory_items.quantity = ${expected}
    returning ${inventoryItems.all}`);
  if (item) return item;
  const [pet] = await db.query<{ quantity: number | null }>(sql`
    select quantity from pets left join inventory_items on pet_id = id where id = ${petId}`);
  if (!pet) throw new PetNotFound(petId);
  throw new StaleInventory(petId, pet.quantity ?? 0);
}

/**
 * Sets the stock of a pet, and creates the entry if it does not exist. If there is an
 * `expectedQuantity`, changes the stock only if it is that.
 * @throws InvalidId, InvalidInput, PetNotFound, StaleInventory
 */
export async function updateInventory(
  db: Database,
  pet: string,
  input: Unchecked<typeof InventoryUpdate>,
  expectedQuantity?: number | null,
): Promise<InventoryItem> {
  const petId = parseId(pet, 'petId');
  const { quantity } = parse(InventoryUpdate, input, 'input');
  const expected = parse(StockQuantity.nullish(), expectedQuantity, 'expectedQuantity');
  try {
    if (expected != null) return await compareAndSet(db, { petId, quantity }, expected);
    return await db.prisma.inventoryItem.upsert({
      where: { petId },
      create: { petId, quantity },
      update: { quantity },
    });
  } catch (error) {
    throw isMissingReference(error, inventoryItems.foreignKeys.petId)
      ? new PetNotFound(petId)
      : error;
  }
}

/**
 * Adds units to the stock of a pet. Creates the entry if it does not exist.
 * @throws PetNotFound, StockLimitExceeded
 */
async function addUnits({ write }: Session, petId: bigint, units: number): Promise<InventoryItem> {
  try {
    const [item] = await write<InventoryItem>(sql`
      with pet as (
        select id from pets where id = ${petId} for key share
      )
      insert into inventory_items (pet_id, quantity) select id, ${units}::integer from pet
      on conflict (pet_id) do update set quantity = inventory_items.quantity + excluded.quantity
      returning ${inventoryItems.all}`);
    if (item) return item;
  } catch (error) {
    throw isOutOfRange(error) ? new StockLimitExceeded(`${units} more of pet ${petId}`) : error;
  }
  throw new PetNotFound(petId);
}

/**
 * Removes units from the stock of a pet, never below 0.
 *
 * `on conflict do update` cannot: it applies the CHECK to the proposed row, whose quantity would be
 * negative. The statement locks the pet, which cannot be deleted then, and reads the stock after it has
 * locked that too.
 * @throws PetNotFound, InsufficientStock
 */
async function removeUnits(
  { write }: Session,
  petId: bigint,
  units: number,
): Promise<InventoryItem> {
  const [found] = await write<{ stock: number | null; quantity: number | null }>(sql`
    with pet as (
      select id from pets where id = ${petId} for key share
    ), stock as (
      select item.pet_id, item.quantity from inventory_items as item
      where item.pet_id = (select pet.id from pet) for update
    ), changed as (
      update inventory_items as item set quantity = (stock.quantity - ${units}::bigint)::integer
      from stock where item.pet_id = stock.pet_id and stock.quantity >= ${units}::bigint
      returning item.quantity
    )
    select stock.quantity as stock, changed.quantity
    from pet left join stock on true left join changed on true`);
  if (!found) throw new PetNotFound(petId);
  const { stock, quantity } = found;
  if (quantity === null) throw new InsufficientStock(petId, stock ?? 0);
  return { petId, quantity };
}

/**
 * Adds units to the stock of a pet, or removes them if `by` is negative, once for each idempotency key.
 * A pet without an entry has a stock of 0.
 * @throws InvalidId, InvalidInput, PetNotFound, InsufficientStock, StockLimitExceeded,
 * IdempotencyConflict
 */
export async function adjustInventory(
  db: Database,
  pet: string,
  change: number,
  write: CallerKey,
): Promise<InventoryItem> {
  const petId = parseId(pet, 'petId');
  const by = parse(Adjustment, change, 'by');
  const request = {
    ...write,
    operation: 'adjustInventory',
    input: { petId, by },
    upgrade: inventoryItems.upgrade,
  };
  return writeOnce(db, request, (session) =>
    by > 0 ? addUnits(session, petId, by) : removeUnits(session, petId, -by),
  );
}

/** Returns what a filter requires of recorded inventory entries. @throws InvalidId, InvalidInput */
export function toInventoryFilter(filter: object): RowFilter {
  const { petIds, maxQuantity } = parse(InventoryFilter, filter, 'filter');
  return [...isAmong('pet_id', petIds), ...isAtMost('quantity', maxQuantity)];
}
