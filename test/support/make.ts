import sql, { raw } from 'sql-template-tag';

import type { Session } from '../../src/gateway/database/session.ts';
import { petStore } from '../../src/store/index.ts';
import type { Gateway } from './gateway.ts';

const { schema } = petStore;

/** Sends a mutation with its arguments as variables; returns fields of its result, or the code of an error. */
export async function mutate(
  gateway: Gateway,
  name: string,
  args: Readonly<Record<string, unknown>>,
  fields = '__typename',
) {
  const known = schema.getMutationType()?.getFields()[name]?.args ?? [];
  const given = known.filter((arg) => args[arg.name] !== undefined);
  const declared = given.map((arg) => `$${arg.name}: ${arg.type.toString()}`).join(', ');
  const values = given.map((arg) => `${arg.name}: $${arg.name}`).join(', ');
  const { changed } = await gateway.data(
    `mutation (${declared}) { changed: ${name}(${values}) { ${fields} ... on Error { code } } }`,
    args,
  );
  return changed;
}

/** Inserts rows into a table; the keys of a row are the names of the columns. */
export const insertRows = (
  db: Session,
  table: string,
  rows: readonly object[],
): Promise<unknown> => {
  const columns = raw(Object.keys(rows[0] ?? {}).join(', '));
  return db.write(sql`insert into ${raw(table)} (${columns}) overriding system value
    select ${columns} from json_populate_recordset(null::${raw(table)}, ${JSON.stringify(rows)}::json)`);
};

export const nodeIdOf = (type: string, id: string): string =>
  Buffer.from(`${type}_${id}`).toString('base64url');

export const makeCategory = async (gateway: Gateway, name = 'Cats'): Promise<string> =>
  (await mutate(gateway, 'createCategory', { input: { name } }, '... on Category { id }')).id;

interface PetOptions {
  name?: string;
  categoryId?: string;
  status?: 'AVAILABLE' | 'PENDING' | 'SOLD';
  /** The units in stock; if omitted, no inventory item is created. */
  stock?: number;
}

/** Creates a pet, in a new category unless one is given, and returns its id. */
export async function makePet(gateway: Gateway, options: PetOptions = {}): Promise<string> {
  const { name = 'Cleo', status = 'AVAILABLE', stock: quantity } = options;
  const categoryId = options.categoryId ?? (await makeCategory(gateway));
  const input = { name, categoryId, status, quantity };
  return (await mutate(gateway, 'createPet', { input }, '... on Pet { id }')).id;
}

interface OrderOptions {
  quantity?: number;
  shipDate?: string;
  complete?: boolean;
}

/** Places an order for a pet that has enough units in stock, and returns the id of the order. */
export async function makeOrder(
  gateway: Gateway,
  petId: string,
  { quantity = 1, shipDate, complete }: OrderOptions = {},
): Promise<string> {
  const input = { petId, quantity, shipDate };
  const { id } = await mutate(gateway, 'placeOrder', { input }, '... on Order { id }');
  if (complete) await mutate(gateway, 'completeOrder', { id });
  return id;
}

export async function stockOf(gateway: Gateway, petId: string): Promise<number> {
  const { inventoryItem } = await gateway.data(
    'query ($petId: ID!) { inventoryItem(petId: $petId) { quantity } }',
    { petId },
  );
  return inventoryItem.quantity;
}
