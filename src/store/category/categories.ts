import { z } from 'zod';

import {
  byId,
  type CallerKey,
  Description,
  Id,
  isAmong,
  isRecordNotFound,
  isStillReferenced,
  type Listing,
  Name,
  nameContains,
  nameKey,
  NamePart,
  onlyRow,
  pagesOf,
  parse,
  parseId,
  required,
  type RowFilter,
  type Unchecked,
  writeOnce,
  errorOf,
} from '../../gateway/index.ts';
import type { Category } from '../generated/prisma/client.ts';
import type { Database } from '../prisma.ts';
import { table, TABLES } from '../tables.ts';

export const categories = table(TABLES.Category);

export class CategoryNotFound extends errorOf(
  'CATEGORY_NOT_FOUND',
  404,
  'The category does not exist.',
) {
  constructor(id: bigint) {
    super(`There is no category ${id}.`);
  }
}

export class CategoryInUse extends errorOf(
  'CATEGORY_IN_USE',
  409,
  'The category has pets, so it cannot be deleted.',
) {
  constructor(id: bigint) {
    super(`Category ${id} has pets: move or delete them first.`);
  }
}

export const NewCategory = z.object({
  name: Name,
  description: Description.nullable().default(null),
});
export const CategoryUpdate = z.object({
  name: Name.exactOptional(),
  description: Description.nullable().exactOptional(),
});
const CategoryFilter = z.object({ name: NamePart.nullish() });

const categoryListing: Listing<Category, Unchecked<typeof CategoryFilter>, 'ID' | 'NAME'> = {
  table: categories,
  keys: { ID: null, NAME: nameKey },
  defaultField: 'ID',
  where: (filter, _idBounds, isRare) => {
    const { name } = parse(CategoryFilter, filter, 'filter');
    return name == null ? [] : [nameContains(categories.name, name, isRare(name))];
  },
  isSearch: ({ name }) => name != null,
  isSkewed: ({ name }, isRare) => name != null && !isRare(name),
};

export const categoryById = byId('category', categories);
export const categoryOf = required(categoryById, (id) => new CategoryNotFound(id));
export const categoryPages = pagesOf(categoryListing);

/** @throws InvalidInput, IdempotencyConflict */
export async function createCategory(
  db: Database,
  input: Unchecked<typeof NewCategory>,
  write: CallerKey,
): Promise<Category> {
  const data = parse(NewCategory, input, 'input');
  const request = {
    ...write,
    operation: 'createCategory',
    input: data,
    upgrade: categories.upgrade,
  };
  return writeOnce(db, request, async (session) =>
    onlyRow(await session.write<Category>(categories.insert(data))),
  );
}

/** @throws InvalidId, InvalidInput, CategoryNotFound */
export async function updateCategory(
  db: Database,
  categoryId: string,
  input: Unchecked<typeof CategoryUpdate>,
): Promise<Category> {
  const id = parseId(categoryId, 'id');
  const data = parse(CategoryUpdate, input, 'input');
  try {
    return await db.prisma.category.update({ where: { id }, data });
  } catch (error) {
    throw isRecordNotFound(error) ? new CategoryNotFound(id) : error;
  }
}

/** @throws InvalidId, CategoryNotFound, CategoryInUse */
export async function deleteCategory(db: Database, categoryId: string): Promise<Category> {
  const id = parseId(categoryId, 'id');
  try {
    return await db.prisma.category.delete({ where: { id } });
  } catch (error) {
    if (isRecordNotFound(error)) throw new CategoryNotFound(id);
    throw isStillReferenced(error) ? new CategoryInUse(id) : error;
  }
}

const CategoryChangeFilter = z.object({ ids: z.array(Id).nullish() });

/** Returns what a filter requires of recorded categories. @throws InvalidId */
export const toCategoryFilter = (filter: object): RowFilter =>
  isAmong('id', parse(CategoryChangeFilter, filter, 'filter').ids);
