import sql, { join, raw, type Sql } from 'sql-template-tag';
import { z } from 'zod';

import {
  byId,
  type CallerKey,
  Id,
  type IdBounds,
  isAmong,
  isEqual,
  isMissingReference,
  isOneOf,
  type IsRare,
  isRecordNotFound,
  isStillReferenced,
  type Listing,
  Name,
  nameContains,
  nameKey,
  NamePart,
  onlyRow,
  pagesByParent,
  pagesOf,
  parse,
  parseId,
  required,
  type RowFilter,
  type Session,
  type Unchecked,
  writeOnce,
  errorOf,
} from '../../gateway/index.ts';
import { CategoryNotFound } from '../category/categories.ts';
import { type Category, type Pet, PetStatus } from '../generated/prisma/client.ts';
import { lineErrorOf } from '../line-error.ts';
import type { Database } from '../prisma.ts';
import { table, TABLES } from '../tables.ts';
import { StockQuantity } from '../values.ts';

export const pets = table(TABLES.Pet);

export class PetNotFound extends lineErrorOf('PET_NOT_FOUND', 404, 'The pet does not exist.') {
  constructor(id: bigint, line: number | null = null) {
    super(`There is no pet ${id}.`, line);
  }
}

export class PetInUse extends errorOf(
  'PET_IN_USE',
  409,
  'The pet has orders, so it cannot be deleted.',
) {
  constructor(id: bigint) {
    super(`Pet ${id} has orders, so it cannot be deleted.`);
  }
}

export class PetNotAvailable extends lineErrorOf(
  'PET_NOT_AVAILABLE',
  409,
  'The status of the pet is not AVAILABLE.',
) {
  constructor(id: bigint, line: number | null = null) {
    super(`Pet ${id} is not available.`, line);
  }
}

export const Status = z.enum(PetStatus);
export const NewPet = z.object({
  name: Name,
  categoryId: Id,
  status: Status.default(pets.defaults.status),
  quantity: StockQuantity.nullable().default(null),
});
export const PetUpdate = z.object({
  name: Name.exactOptional(),
  categoryId: Id.exactOptional(),
  status: Status.exactOptional(),
});
const PetFilter = z.object({
  status: z.array(Status).nullish(),
  categoryId: Id.nullish(),
  name: NamePart.nullish(),
  inStock: z.boolean().nullish(),
  ids: z.array(Id).nullish(),
});

/** The condition for some statuses. A single one is compared with `=`: an index then gives the order. */
export function hasStatus(status: readonly PetStatus[]): Sql {
  const literals = [...new Set(status)].toSorted().map((one) => `'${one}'`);
  if (literals.length === 0) return sql`false`;
  return raw(
    literals.length === 1
      ? `pets.status = ${literals[0]}`
      : `pets.status in (${literals.join(', ')})`,
  );
}

/** The condition for pets with or without units in stock. A pet without an entry has none. */
function isInStock(inStock: boolean, idBounds: IdBounds): Sql {
  const bounds = idBounds(sql`inventory_items.pet_id`);
  const isOfPet = join([sql`pet_id = pets.id`, ...bounds], ' and ');
  const entry = sql`exists (
    select from inventory_items where ${isOfPet} and inventory_items.quantity > 0)`;
  return inStock ? entry : sql`not ${entry}`;
}

/** Whether a filter is a search for a rare name. For other conditions there may be a better index. */
const isRareSearch = (
  { name, categoryId, inStock, ids }: Unchecked<typeof PetFilter>,
  isRare: IsRare,
): boolean => name != null && (categoryId ?? inStock ?? ids) == null && isRare(name);

const petListing: Listing<Pet, Unchecked<typeof PetFilter>, 'ID' | 'NAME'> = {
  table: pets,
  keys: { ID: null, NAME: nameKey },
  defaultField: 'ID',
  where: (filter, idBounds, isRare) => {
    const { status, categoryId, name, inStock, ids } = parse(PetFilter, filter, 'filter');
    const conditions = [];
    if (status != null) conditions.push(hasStatus(status));
    if (categoryId != null) conditions.push(sql`category_id = ${categoryId}`);
    if (name != null) conditions.push(nameContains(pets.name, name, isRareSearch(filter, isRare)));
    if (inStock != null) conditions.push(isInStock(inStock, idBounds));
    if (ids != null) conditions.push(isOneOf(sql`id`, ids));
    return conditions;
  },
  isSearch: ({ name, inStock }) => name != null || inStock != null,
  isSkewed: (filter, isRare) =>
    (filter.name != null && !isRareSearch(filter, isRare)) || filter.inStock != null,
};

/** A pet, with its category if that was read too. */
export type PetAndCategory = Pet & { readonly category?: Category };

/**
 * Reads pets with their categories: most queries for a pet also select its category, and this saves a
 * second statement. With `offset 0` PostgreSQL looks up each category by id; with a plain join, its
 * plan for an unknown number of pets scans all categories.
 */
async function petsByIds(db: Session, ids: readonly bigint[]): Promise<PetAndCategory[]> {
  const rows = await db.query<
    Pet & { categoryName: string | null; categoryDescription: string | null }
  >(sql`
    select pets.id, pets.name, pets.category_id as "categoryId", pets.status,
      category.name as "categoryName", category.description as "categoryDescription"
    from pets left join lateral (
      select name, description from categories where categories.id = pets.category_id offset 0
    ) as category on true
    where pets.id = any((select ${ids}::bigint[])::bigint[])`);
  return rows.map(({ id, name, categoryId, status, categoryName, categoryDescription }) => ({
    id,
    name,
    categoryId,
    status,
    ...(categoryName !== null && {
      category: { id: categoryId, name: categoryName, description: categoryDescription },
    }),
  }));
}

export const petById = byId<PetAndCategory>('pet', pets, petsByIds);
export const petOf = required(petById, (id) => new PetNotFound(id));
export const petPages = pagesOf(petListing);
export const petPagesByCategory = pagesByParent('petsByCategory', petListing, {
  column: 'category_id',
  of: (pet) => pet.categoryId,
});

/** Inserts a pet and, if there is a quantity, its inventory entry, by one statement. */
async function insertPet(
  { write }: Session,
  { name, categoryId, status, quantity }: z.output<typeof NewPet>,
): Promise<Pet> {
  const insert = pets.insert({ name, categoryId, status });
  if (quantity === null) return onlyRow(await write<Pet>(insert));
  const insertBoth = sql`
    with pet as (${insert}), item as (
      insert into inventory_items (pet_id, quantity) select id, ${quantity}::integer from pet
    )
    select * from pet`;
  return onlyRow(await write<Pet>(insertBoth));
}

/**
 * Creates a pet, with its stock if there is a quantity.
 * @throws InvalidId, InvalidInput, CategoryNotFound, IdempotencyConflict
 */
export async function createPet(
  db: Database,
  input: Unchecked<typeof NewPet>,
  write: CallerKey,
): Promise<Pet> {
  const data = parse(NewPet, input, 'input');
  const { quantity, ...pet } = data;
  // Without a quantity it has the digest that earlier releases stored, so that a retry is recognized.
  const request = {
    ...write,
    operation: 'createPet',
    input: quantity === null ? pet : data,
    upgrade: pets.upgrade,
  };
  try {
    return await writeOnce(db, request, (session) => insertPet(session, data));
  } catch (error) {
    throw isMissingReference(error, pets.foreignKeys.categoryId)
      ? new CategoryNotFound(data.categoryId)
      : error;
  }
}

/** @throws InvalidId, InvalidInput, PetNotFound, CategoryNotFound */
export async function updatePet(
  db: Database,
  petId: string,
  input: Unchecked<typeof PetUpdate>,
): Promise<Pet> {
  const id = parseId(petId, 'id');
  const data = parse(PetUpdate, input, 'input');
  try {
    return await db.prisma.pet.update({ where: { id }, data });
  } catch (error) {
    if (isRecordNotFound(error)) throw new PetNotFound(id);
    if (data.categoryId !== undefined && isMissingReference(error, pets.foreignKeys.categoryId)) {
      throw new CategoryNotFound(data.categoryId);
    }
    throw error;
  }
}

/**
 * Deletes a pet and its inventory entry.
 * @throws InvalidId, PetNotFound, PetInUse
 */
export async function deletePet(db: Database, petId: string): Promise<Pet> {
  const id = parseId(petId, 'id');
  try {
    return await db.prisma.pet.delete({ where: { id } });
  } catch (error) {
    if (isRecordNotFound(error)) throw new PetNotFound(id);
    throw isStillReferenced(error) ? new PetInUse(id) : error;
  }
}

/** Returns what a filter requires of recorded pets. @throws InvalidId, InvalidInput */
export function toPetFilter(filter: object): RowFilter {
  const { ids, categoryId, status } = parse(PetFilter, filter, 'filter');
  return [
    ...isAmong('id', ids),
    ...isEqual('category_id', categoryId),
    ...isAmong('status', status, pets.defaults.status),
  ];
}
