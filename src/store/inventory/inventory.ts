import { z } from 'zod';

import { PetNotFound, StaleInventory } from '../../contract/errors.ts';
import { parse, parseId, StockQuantity, type Unchecked } from '../../contract/values.ts';
import type { Database } from '../../database/database.ts';
import { isForeignKeyViolation } from '../../database/errors.ts';
import { type InventoryItem, Prisma } from '../../database/generated/prisma/client.ts';
import type { Listing } from '../../database/listing.ts';
import { byId, pagesOf } from '../../database/loaders.ts';
import { columnsOf, type Table } from '../../database/table.ts';
import { hasStatus, Status } from '../pet/pets.ts';

export const InventoryUpdate = z.object({ quantity: StockQuantity });
const InventoryFilter = z.object({
  status: z.array(Status).nullish(),
  maxQuantity: z.int().nullish(),
});

const TABLE: Table<InventoryItem> = {
  name: 'inventory_items',
  columns: { petId: 'pet_id', quantity: 'quantity' },
  id: { column: 'pet_id', of: ({ petId }) => petId },
};
const COLUMNS = columnsOf(TABLE);

/** The list of inventory entries. */
const inventoryListing: Listing<
  InventoryItem,
  Unchecked<typeof InventoryFilter>,
  'PET_ID' | 'QUANTITY'
> = {
  table: TABLE,
  keys: {
    PET_ID: null,
    QUANTITY: {
      sql: Prisma.sql`quantity`,
      of: (item) => String(item.quantity),
      asText: Prisma.sql`quantity::text`,
      text: z
        .string()
        .regex(/^[0-9]+$/)
        .refine((text) => StockQuantity.safeParse(Number(text)).success),
      cast: Prisma.sql`::integer`,
    },
  },
  defaultField: 'PET_ID',
  where: (filter) => {
    const { status, maxQuantity } = parse(InventoryFilter, filter, 'filter');
    const conditions = [];
    if (status != null) {
      conditions.push(
        Prisma.sql`exists (select from pets where pets.id = pet_id and ${hasStatus(status)})`,
      );
    }
    if (maxQuantity != null) conditions.push(Prisma.sql`quantity <= ${maxQuantity}`);
    return conditions;
  },
  isSearch: ({ status }) => status != null,
  isSkewed: ({ maxQuantity }) => maxQuantity != null,
};

export const inventoryByPetId = byId('inventoryItem', TABLE);
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
  const [item] = await db.query<InventoryItem>(Prisma.sql`
    insert into inventory_items (pet_id, quantity)
    select pets.id, ${quantity}::integer from pets where pets.id = ${petId}
      and (${expected}::integer = 0 or exists (select from inventory_items where pet_id = ${petId}))
    on conflict (pet_id) do update set quantity = excluded.quantity
      where inventory_items.quantity = ${expected}
    returning ${COLUMNS}`);
  if (item) return item;
  const [pet] = await db.query<{ quantity: number | null }>(Prisma.sql`
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
    throw isForeignKeyViolation(error) ? new PetNotFound(petId) : error;
  }
}
