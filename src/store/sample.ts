import sql, { type Sql } from 'sql-template-tag';

import type { Session } from '../gateway/index.ts';
import type { PetStatus } from './generated/prisma/client.ts';

/** Ten categories, each with a name, a description, and the names of ten pets. */
const CATEGORIES = `
  Dogs | Loyal, loud and always ready for a walk. | Biscuit Luna Max Bella Charlie Daisy Rocky Molly Bruno Hazel
  Cats | They choose you, not the other way round. | Whiskers Cleo Simba Nala Felix Misty Oscar Pumpkin Salem Mango
  Rabbits | Quiet company with a bottomless appetite for hay. | Clover Thumper Hazelnut Snowball Juniper Oreo Willow Marshmallow Basil Poppy
  Guinea pigs | They whistle when the fridge opens. | Peanut Ginger Patches Truffle Nibbles Mocha Waffles Cookie Acorn Butterscotch
  Hamsters | Small, busy, and awake at night. | Pip Squeak Nugget Dumpling Button Sesame Chestnut Fidget Tofu Twix
  Parrots | They live long and repeat everything. | Kiwi Rio Captain Paco Skittles Azul Zazu Pepper Sunny Coco
  Canaries and finches | They sing from first light. | Tweety Caruso Melody Saffron Pavarotti Sol Lemon Aria Figaro Celeste
  Fish | For a tank of 100 litres or more. | Nemo Bubbles Coral Flash Marlin Neptune Pearl Splash Koi Triton
  Turtles and tortoises | Plan for fifty years. | Sheldon Tank Olive Franklin Mossy Pebbles Atlas Shelly Bruce Methuselah
  Snakes and lizards | They need warmth, shade and patience. | Slinky Rex Jade Medusa Spike Noodle Amber Draco Sage Monty
`
  .trim()
  .split('\n')
  .map((line) => line.trim().split(' | '));

const DAY_MS = 86_400_000;
const FIRST_SHIP_DATE = Date.parse('2026-12-01T09:00:00Z');

// The remainders only add variety. All sample stores are identical.
const statusOf = (index: number): PetStatus =>
  index % 11 === 10 ? 'sold' : index % 7 === 6 ? 'pending' : 'available';

/** Pet 1 is the first pet of the first category, pet 2 the first pet of the second, and so on. */
function insertPets(categoryIds: readonly bigint[]): Sql {
  const names = CATEGORIES.map(([, , pets]) => pets?.split(' '));
  const indexes = Array.from({ length: 100 }, (_, index) => index);
  return sql`
    insert into pets (name, category_id, status)
    select * from unnest(${indexes.map((index) => names[index % 10]?.[Math.floor(index / 10)])}::text[],
      ${indexes.map((index) => categoryIds[index % 10])}::bigint[],
      ${indexes.map(statusOf)}::text[]::pet_status[])
    returning id`;
}

function insertOrders(petIds: readonly bigint[]): Sql {
  const indexes = Array.from({ length: 40 }, (_, index) => index);
  const shipDates = indexes.map((index) =>
    index % 5 === 4 ? null : new Date(FIRST_SHIP_DATE + index * DAY_MS).toISOString(),
  );
  return sql`
    insert into orders (pet_id, quantity, ship_date, complete)
    select * from unnest(${indexes.map((index) => petIds[(index * 13) % 100])}::bigint[],
      ${indexes.map((index) => (index % 4) + 1)}::integer[],
      ${shipDates}::text[]::timestamptz[],
      ${indexes.map((index) => index % 3 === 0)}::boolean[])`;
}

export async function fillSample({ write }: Session): Promise<void> {
  const categories = await write<{ id: bigint }>(sql`
    insert into categories (name, description)
    select * from unnest(${CATEGORIES.map(([name]) => name)}::text[],
      ${CATEGORIES.map(([, description]) => description)}::text[])
    returning id`);
  const pets = await write<{ id: bigint }>(insertPets(categories.map(({ id }) => id)));
  const stocked = pets.map(({ id }) => id).filter((_, index) => index % 9 !== 8);
  await write(sql`
    insert into inventory_items (pet_id, quantity)
    select * from unnest(${stocked}::bigint[],
      ${stocked.map((_, index) => (index * 7 + 12) % 23)}::integer[])`);
  await write(insertOrders(pets.map(({ id }) => id)));
}
