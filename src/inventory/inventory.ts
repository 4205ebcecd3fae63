import { z } from 'zod';

import type { Database } from '../database/database.ts';
import { isForeignKeyViolation } from '../database/failure.ts';
import { type InventoryItem, PetStatus, Prisma } from '../database/generated/prisma/client.ts';
import type { Listing } from '../database/pages.ts';
import { PetNotFound } from '../errors.ts';
import { hasStatus } from '../pet/pets.ts';
import { parse, parseId, StockQuantity, type Unchecked } from '../values.ts';

const InventoryUpdate = z.object({ quantity: StockQuantity });
const InventoryFilter = z.object({
  status: z.array(z.enum(PetStatus)).nullish(),
  maxQuantity: z.int().nullish(),
});

/** Inventory entries, for paging through. */
export const inventoryListing: Listing<
  InventoryItem,
  Unchecked<typeof InventoryFilter>,
  'PET_ID' | 'QUANTITY'
> = {
  from: Prisma.sql`inventory_items`,
  columns: Prisma.sql`pet_id as "petId", quantity`,
  id: { sql: Prisma.sql`pet_id`, of: (item) => item.petId },
  keys: {
    PET_ID: null,
    QUANTITY: {
      sql: Prisma.sql`quantity`,
      of: (item) => String(item.quantity),
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
};

export function inventoryByPetIds(
  db: Database,
  petIds: readonly bigint[],
): Promise<InventoryItem[]> {
  return db.prisma.inventoryItem.findMany({ where: { petId: { in: [...petIds] } } });
}

/**
 * Sets the units in stock of a pet; makes the entry where there is none.
 * @throws InvalidId, InvalidInput, PetNotFound
 */
export async function updateInventory(
  db: Database,
  pet: string,
  input: Unchecked<typeof InventoryUpdate>,
): Promise<InventoryItem> {
  const petId = parseId(pet, 'petId');
  const { quantity } = parse(InventoryUpdate, input, 'input');
  try {
    return await db.prisma.inventoryItem.upsert({
      where: { petId },
      create: { petId, quantity },
      update: { quantity },
    });
  } catch (error) {
    throw isForeignKeyViolation(error) ? new PetNotFound(petId) : error;
  }
}
