import { insertLines, type Session } from '../gateway/index.ts';
import { categories } from './category/categories.ts';
import type { Category, Pet, PetStatus } from './generated/prisma/client.ts';
import { inventoryItems } from './inventory/inventory.ts';
import { orders } from './order/orders.ts';
import { pets } from './pet/pets.ts';

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

const indexes = (length: number): number[] => Array.from({ length }, (_, index) => index);

/** Pet 1 is the first pet of the first category, pet 2 the first pet of the second, and so on. */
export async function fillSample({ write }: Session): Promise<void> {
  const inCategories = await write<Category>(
    insertLines(
      categories,
      CATEGORIES.map(([name = '', description = '']) => ({ name, description })),
    ),
  );
  const names = CATEGORIES.map(([, , ofPets = '']) => ofPets.split(' '));
  const samples = indexes(10).flatMap((round) =>
    inCategories.map(({ id }, place) => ({
      name: names[place]?.[round] ?? '',
      categoryId: id,
      status: statusOf(10 * round + place),
    })),
  );
  const ids = (await write<Pet>(insertLines(pets, samples))).map(({ id }) => id);
  const stocked = ids.filter((_, index) => index % 9 !== 8);
  const stock = stocked.map((petId, index) => ({ petId, quantity: (index * 7 + 12) % 23 }));
  await write(insertLines(inventoryItems, stock));
  const ordered = indexes(40).flatMap((index) => ids[(index * 13) % 100] ?? []);
  const placed = ordered.map((petId, index) => ({
    petId,
    quantity: (index % 4) + 1,
    shipDate: index % 5 === 4 ? null : new Date(FIRST_SHIP_DATE + index * DAY_MS),
    complete: index % 3 === 0,
  }));
  await write(insertLines(orders, placed));
}
