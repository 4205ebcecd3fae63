import type { Database, Session } from '../database/database.ts';
import { type PetStatus, Prisma } from '../database/generated/prisma/client.ts';

/** Ten categories, each with its description and ten pets. */
const CATEGORIES: readonly (readonly [name: string, description: string, pets: string])[] = [
  [
    'Dogs',
    'Loyal, loud and always ready for a walk.',
    'Biscuit Luna Max Bella Charlie Daisy Rocky Molly Bruno Hazel',
  ],
  [
    'Cats',
    'They choose you, not the other way round.',
    'Whiskers Cleo Simba Nala Felix Misty Oscar Pumpkin Salem Mango',
  ],
  [
    'Rabbits',
    'Quiet company with a great need of hay.',
    'Clover Thumper Hazelnut Snowball Juniper Oreo Willow Marshmallow Basil Poppy',
  ],
  [
    'Guinea pigs',
    'They whistle when the fridge opens.',
    'Peanut Ginger Patches Truffle Nibbles Mocha Waffles Cookie Acorn Butterscotch',
  ],
  [
    'Hamsters',
    'Small, busy, and awake at night.',
    'Pip Squeak Nugget Dumpling Button Sesame Chestnut Fidget Tofu Twix',
  ],
  [
    'Parrots',
    'They live long and repeat everything.',
    'Kiwi Rio Captain Paco Skittles Azul Zazu Pepper Sunny Coco',
  ],
  [
    'Canaries and finches',
    'Song from first light on.',
    'Tweety Caruso Melody Saffron Pavarotti Sol Lemon Aria Figaro Celeste',
  ],
  [
    'Fish',
    'For a tank of 100 litres or more.',
    'Nemo Bubbles Coral Flash Marlin Neptune Pearl Splash Koi Triton',
  ],
  [
    'Turtles and tortoises',
    'Plan for fifty years.',
    'Sheldon Tank Olive Franklin Mossy Pebbles Atlas Shelly Bruce Methuselah',
  ],
  [
    'Snakes and lizards',
    'They need warmth, shade and patience.',
    'Slinky Rex Jade Medusa Spike Noodle Amber Draco Sage Monty',
  ],
];

const DAY_MS = 86_400_000;
const FIRST_SHIP_DATE = Date.parse('2026-12-01T09:00:00Z');

// The remainders below only spread the values; what matters is that each start gives the same.
const statusOf = (index: number): PetStatus =>
  index % 11 === 10 ? 'sold' : index % 7 === 6 ? 'pending' : 'available';

/** Whether a database ever held a category. */
async function isUsed({ query }: Session): Promise<boolean> {
  const [used] = await query<{ ever: boolean }>(
    Prisma.sql`select is_called as ever from categories_id_seq`,
  );
  return used?.ever === true;
}

/** Makes the sample store in a database that never held a category; false in any other. */
export async function fillSampleStore(db: Database): Promise<boolean> {
  // A start on a store that is in use needn't wait until Prisma is loaded, for the transaction.
  if (await isUsed(db)) return false;
  return db.transaction(async (session) => {
    const { prisma } = session;
    // Gateways that start at once wait for each other here.
    await prisma.$executeRaw`lock table categories in exclusive mode`;
    if (await isUsed(session)) return false;
    const categories = await prisma.category.createManyAndReturn({
      data: CATEGORIES.map(([name, description]) => ({ name, description })),
    });
    // Pet 1 is the first of the first category, pet 2 the first of the second, and so on.
    const names = CATEGORIES.map(([, , pets]) => pets.split(' '));
    const newPets = Array.from({ length: 100 }, (_, index) => ({
      name: names[index % 10]?.[Math.floor(index / 10)] ?? '',
      categoryId: categories[index % 10]?.id ?? 0n,
      status: statusOf(index),
    }));
    const pets = await prisma.pet.createManyAndReturn({ data: newPets });
    await prisma.inventoryItem.createMany({
      data: pets
        .filter((_, index) => index % 9 !== 8)
        .map(({ id }, index) => ({ petId: id, quantity: (index * 7 + 12) % 23 })),
    });
    await prisma.order.createMany({
      data: Array.from({ length: 40 }, (_, index) => ({
        petId: pets[(index * 13) % 100]?.id ?? 0n,
        quantity: (index % 4) + 1,
        shipDate: index % 5 === 4 ? null : new Date(FIRST_SHIP_DATE + index * DAY_MS),
        complete: index % 3 === 0,
      })),
    });
    return true;
  });
}
