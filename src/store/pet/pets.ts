import sql, { type Sql } from 'sql-template-tag';
import { z } from 'zod';

import {
  createRepository,
  errorOf,
  filterBy,
  groupBy,
  insertLines,
  type Session,
} from '../../gateway/index.ts';
import { categories } from '../category/categories.ts';
import type { Category, Pet } from '../generated/prisma/client.ts';
import { table } from '../tables.ts';
import { StockQuantity } from '../values.ts';

// `line` is the zero-based index of the entry in `input` that caused the error, or null if the mutation does not take a
// list.
export const PetNotAvailable = errorOf(
  'PET_NOT_AVAILABLE',
  409,
  'The status of the pet is not AVAILABLE.',
  (id: bigint, line: number | null = null) => ({ message: `Pet ${id} is not available.`, line }),
);

const petTable = table('Pet');

const PET = petTable.as('pets');
const CATEGORY = categories.as('category');

/** A pet, and its category if the same statement returned it. */
type PetAndCategory = Pet & { readonly category?: Category };

/**
 * Reads pets with their categories. Most queries for a pet also select its category, so this saves a second
 * statement. `offset 0` makes PostgreSQL look up each category by id. For a plain join with an unknown number of
 * pets, PostgreSQL would plan a scan of all categories.
 */
async function petsByIds(db: Session, ids: readonly bigint[]): Promise<PetAndCategory[]> {
  const rows = await db.query<object>(sql`
    select ${PET.columns}, ${CATEGORY.columns}
    from pets left join lateral (
      select * from categories where categories.id = pets.category_id offset 0
    ) as category on true
    where pets.id = any((select ${ids}::bigint[])::bigint[])`);
  return rows.flatMap((row) => {
    const pet = PET.rowOf(row);
    const category = CATEGORY.rowOf(row);
    return pet ? { ...pet, ...(category && { category }) } : [];
  });
}

/**
 * Returns the condition for pets with more than `units` units in stock. A pet without an inventory row has no units.
 */
const hasMoreUnits = (units: number): Sql => sql`exists (
  select from inventory_items where pet_id = pets.id and inventory_items.quantity > ${units})`;

/** What the filters by stock have in common. They are costly: PostgreSQL may read the stock of all pets. */
const BY_STOCK = { note: 'A pet without an inventory item has no units in stock.', cost: '1000' };

/** Reads, lists, writes and follows pets. */
export const pets = createRepository(petTable, {
  inputs: {
    name: {},
    categoryId: { update: 'The id of the new category.', missing: categories.notFound },
    status: {},
    quantity: {
      create: 'The initial stock, 0 or more. If omitted, no inventory item is created.',
      type: 'Int',
      rule: StockQuantity.nullable().default(null),
      isLater: true,
    },
  },
  filters: ({ id, name, categoryId, status }) => ({
    status: filterBy.oneOf(status, { only: 'with one of these statuses', changes: true }),
    categoryId: filterBy.value(categoryId, {
      only: 'in the category with this id',
      changes: true,
    }),
    categoryIds: filterBy.oneOf(categoryId, {
      only: 'in the categories with these ids',
      changes: true,
    }),
    categoryName: filterBy.related(
      { table: categories, by: 'category_id' },
      filterBy.words(categories.fields.name, { only: 'in categories whose name' }),
    ),
    name: filterBy.words(name, { only: 'whose name' }),
    inStock: filterBy.search({
      ...BY_STOCK,
      only: 'that are in stock if true, or out of stock if false',
      type: 'Boolean',
      rule: z.boolean(),
      where: (wanted) => (wanted ? hasMoreUnits(0) : sql`not ${hasMoreUnits(0)}`),
    }),
    minQuantity: filterBy.search({
      ...BY_STOCK,
      only: 'with at least this many units in stock',
      type: 'Int',
      rule: z.int(),
      where: (min) => (min > 0 ? hasMoreUnits(min - 1) : sql`true`),
    }),
    maxQuantity: filterBy.search({
      ...BY_STOCK,
      only: 'with at most this many units in stock',
      type: 'Int',
      rule: z.int(),
      where: (max) => (max >= 0 ? sql`not ${hasMoreUnits(max)}` : sql`false`),
    }),
    ids: filterBy.oneOf(id, { only: 'with one of these ids', changes: true }),
  }),
  sorts: {
    id: 'Order by id.',
    name: 'Order by name.',
  },
  groups: ({ status, categoryId }) => ({
    by: { status: groupBy.value(status), categoryId: groupBy.value(categoryId) },
  }),
  errors: [PetNotAvailable],
  read: petsByIds,
  // Creates pets, and inventory rows for the pets with a quantity, in one statement.
  insertMany: ({ write }: Session, rows) => {
    const quantities = rows.map(({ quantity }) => quantity);
    const insert = insertLines(
      petTable,
      rows.map(({ quantity: _quantity, ...pet }) => pet),
    );
    return write<Pet>(sql`
      with pet as (${insert}), item as (
        insert into inventory_items (pet_id, quantity)
        select pet.id, stock.quantity
        from (select id, row_number() over (order by id) as index from pet) as pet
        join unnest((select ${quantities}::integer[])) with ordinality as stock (quantity, index)
          on stock.index = pet.index
        where stock.quantity is not null
      )
      select * from pet order by id`);
  },
});

export const { notFound: PetNotFound } = pets;

/** The relation from a row to its pet, for filter conditions. */
export const ofPet = { table: pets, by: 'pet_id' } as const;
