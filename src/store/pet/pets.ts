import { z } from 'zod';

import { CategoryNotFound, PetInUse, PetNotFound } from '../../contract/errors.ts';
import { Id, Name, NamePart, parse, parseId, type Unchecked } from '../../contract/values.ts';
import { type Database, onlyRow, type Session } from '../../database/database.ts';
import { isForeignKeyViolation, isRecordNotFound } from '../../database/errors.ts';
import {
  type Category,
  type Pet,
  PetStatus,
  Prisma,
} from '../../database/generated/prisma/client.ts';
import { type CallerKey, writeOnce } from '../../database/idempotency.ts';
import type { Listing, Parent } from '../../database/listing.ts';
import { byId, pagesByParent, pagesOf, required } from '../../database/loaders.ts';
import { columnsOf, type Table } from '../../database/table.ts';
import { containsText, nameKey } from '../../database/text.ts';

export const Status = z.enum(PetStatus);
export const NewPet = z.object({ name: Name, categoryId: Id, status: Status.default('available') });
export const PetUpdate = z.object({
  name: Name.exactOptional(),
  categoryId: Id.exactOptional(),
  status: Status.exactOptional(),
});
const PetFilter = z.object({
  status: z.array(Status).nullish(),
  categoryId: Id.nullish(),
  name: NamePart.nullish(),
});

const TABLE: Table<Pet> = {
  name: 'pets',
  columns: { id: 'id', name: 'name', categoryId: 'category_id', status: 'status' },
  id: { column: 'id', of: ({ id }) => id },
};
const COLUMNS = columnsOf(TABLE);

/** The condition for some statuses. A single one is compared with `=`: an index then gives the order. */
export function hasStatus(status: readonly PetStatus[]): Prisma.Sql {
  const literals = [...new Set(status)].toSorted().map((one) => `'${one}'`);
  if (literals.length === 0) return Prisma.sql`false`;
  return Prisma.raw(
    literals.length === 1
      ? `pets.status = ${literals[0]}`
      : `pets.status in (${literals.join(', ')})`,
  );
}

/** The list of pets. */
const petListing: Listing<Pet, Unchecked<typeof PetFilter>, 'ID' | 'NAME'> = {
  table: TABLE,
  keys: { ID: null, NAME: nameKey },
  defaultField: 'ID',
  where: (filter) => {
    const { status, categoryId, name } = parse(PetFilter, filter, 'filter');
    const conditions = [];
    if (status != null) conditions.push(hasStatus(status));
    if (categoryId != null) conditions.push(Prisma.sql`category_id = ${categoryId}`);
    if (name != null) conditions.push(containsText(Prisma.sql`name`, name));
    return conditions;
  },
  isSearch: ({ name }) => name != null,
  isSkewed: ({ name }) => name != null,
};

/** Pets belong to a category. */
const byCategory: Parent<Pet> = {
  column: 'category_id',
  of: (pet) => pet.categoryId,
};

/** A pet, with its category if that was read too. */
export type PetAndCategory = Pet & { readonly category?: Category };

interface PetRow extends Pet {
  /** Null if the category does not exist. */
  readonly categoryName: string | null;
  readonly categoryDescription: string | null;
}

/**
 * Reads pets with their categories: most queries for a pet also select its category, and this saves a
 * second statement. With `offset 0` PostgreSQL looks up each category by id; with a plain join, its
 * plan for an unknown number of pets scans all categories.
 */
async function petsByIds(db: Database, ids: readonly bigint[]): Promise<PetAndCategory[]> {
  const rows = await db.query<PetRow>(Prisma.sql`
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

export const petById = byId<PetAndCategory>('pet', TABLE, petsByIds);
export const petOf = required(petById, (id) => new PetNotFound(id));
export const petPages = pagesOf(petListing);
export const petPagesByCategory = pagesByParent('petsByCategory', petListing, byCategory);

const insertPet = async (
  { query }: Session,
  { name, categoryId, status }: z.output<typeof NewPet>,
): Promise<Pet> =>
  onlyRow(
    await query<Pet>(Prisma.sql`
      insert into pets (name, category_id, status)
      values (${name}, ${categoryId}, ${status}::text::pet_status)
      returning ${COLUMNS}`),
  );

/** @throws InvalidId, InvalidInput, CategoryNotFound, IdempotencyConflict */
export async function createPet(
  db: Database,
  input: Unchecked<typeof NewPet>,
  write: CallerKey,
): Promise<Pet> {
  const data = parse(NewPet, input, 'input');
  const request = { ...write, operation: 'createPet', input: data };
  try {
    return await writeOnce(db, request, (session) => insertPet(session, data));
  } catch (error) {
    throw isForeignKeyViolation(error) ? new CategoryNotFound(data.categoryId) : error;
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
    if (data.categoryId !== undefined && isForeignKeyViolation(error)) {
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
    throw isForeignKeyViolation(error) ? new PetInUse(id) : error;
  }
}
