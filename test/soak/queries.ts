import type { Random } from './random.ts';

const MAX_LEVELS = 3;
const MAX_ROWS = 8;

const page = (random: Random, order: readonly string[]): string => {
  const rows = random.whole(1, MAX_ROWS);
  const direction = random.pick(['ASC', 'DESC']);
  return `(${random.pick(['first', 'last'])}: ${rows}, orderBy: { field: ${random.pick(order)}, direction: ${direction} })`;
};

const list = (rows: string, random: Random): string =>
  random.chance(0.5)
    ? `{ nodes { ${rows} } }`
    : `{ pageInfo { hasNextPage } edges { cursor node { ${rows} } } }`;

const PET_ORDER = ['ID', 'NAME'];

function petFields(random: Random, levels: number): string {
  const fields = ['id', random.pick(['name', 'status', 'name status'])];
  if (levels === 0) return fields.join(' ');
  if (random.chance(0.5)) fields.push('inventory { quantity }');
  if (random.chance(0.4)) {
    const order = page(random, ['ID', 'SHIP_DATE']);
    fields.push(`orders${order} ${list('id quantity complete shipDate', random)}`);
  }
  if (random.chance(0.3)) fields.push(`category { ${categoryFields(random, levels - 1)} }`);
  return fields.join(' ');
}

function categoryFields(random: Random, levels: number): string {
  if (levels === 0) return 'id name';
  return `name pets${page(random, PET_ORDER)} ${list(petFields(random, levels - 1), random)}`;
}

/** Returns a query of a random shape, well within the limits. */
export function randomQuery(random: Random): string {
  const levels = random.whole(1, MAX_LEVELS);
  const id = random.whole(1, 60);
  const root = random.pick([
    () => `pet(id: "${id}") { ${petFields(random, levels)} }`,
    () => `pets${page(random, PET_ORDER)} ${list(petFields(random, levels), random)}`,
    () => `categories${page(random, PET_ORDER)} ${list(categoryFields(random, levels), random)}`,
    () =>
      `inventory${page(random, ['PET_ID', 'QUANTITY'])} ${list('quantity pet { name }', random)}`,
    () =>
      `orders${page(random, ['ID', 'SHIP_DATE'])} ${list(`id pet { ${petFields(random, levels - 1)} }`, random)}`,
  ]);
  return `{ ${root()} }`;
}
