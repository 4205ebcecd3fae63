// Mercurius with its JIT: hand-written resolvers and loaders over pg, with the part of the gateway's
// schema that the workloads use.
import Fastify from 'fastify';
import mercurius from 'mercurius';
import { Pool } from 'pg';

const { DATABASE_URL: connectionString, PORT } = process.env;

const schema = `
  scalar DateTime
  enum PetStatus { AVAILABLE PENDING SOLD }
  type Category { id: ID! name: String! pets(first: Int = 20, after: String): PetPage! }
  type Pet {
    id: ID! name: String! status: PetStatus! category: Category! inventory: InventoryItem
    orders(first: Int = 20, after: String): OrderPage!
  }
  type InventoryItem { quantity: Int! }
  type Order { id: ID! quantity: Int! shipDate: DateTime complete: Boolean! pet: Pet! }
  type CategoryPage { nodes: [Category!]! }
  type PetPage { nodes: [Pet!]! totalCount: Int! }
  type OrderPage { nodes: [Order!]! }
  input PetFilter { status: [PetStatus!] categoryId: ID name: String }
  input NewOrder { petId: ID! quantity: Int! }
  type Query {
    pet(id: ID!): Pet
    categories(first: Int = 20, after: String): CategoryPage!
    pets(first: Int = 20, after: String, filter: PetFilter): PetPage!
    orders(first: Int = 20, after: String): OrderPage!
  }
  type Mutation { placeOrder(input: NewOrder!): Order! }
`;

const pool = new Pool({ connectionString, max: 10 });
const names = new Map();

/** Runs a prepared statement, which PostgreSQL parses once for each connection. */
async function query(text, values = []) {
  if (!names.has(text)) names.set(text, `statement_${names.size}`);
  const { rows } = await pool.query({ name: names.get(text), text, values });
  return rows;
}

const PET = 'id, name, upper(status::text) as status, category_id';
const ORDER = 'id, pet_id, quantity, ship_date as "shipDate", complete';

/** Returns the conditions of a filter and a cursor as SQL, and the values for its parameters. */
function whereOf({ status, categoryId, name } = {}, after) {
  const values = [];
  const bind = (value) => `$${values.push(value)}`;
  const conditions = ['true'];
  if (after) conditions.push(`id > ${bind(after)}`);
  if (status) {
    const statuses = status.map((one) => one.toLowerCase());
    conditions.push(`status = any(${bind(statuses)}::pet_status[])`);
  }
  if (categoryId) conditions.push(`category_id = ${bind(categoryId)}`);
  if (name) conditions.push(`name ilike ${bind(`%${name.replaceAll(/[\\%_]/g, '\\$&')}%`)}`);
  return { sql: conditions.join(' and '), values };
}

async function page(columns, table, { first, after, filter }) {
  const { sql, values } = whereOf(filter, after);
  // PostgreSQL plans a search better if it knows how few rows are wanted.
  const text = `select ${columns} from ${table} where ${sql} order by id limit ${Number(first)}`;
  return { nodes: await query(text, values), filter };
}

const resolvers = {
  Query: {
    pet: async (_, { id }) => (await query(`select ${PET} from pets where id = $1`, [id]))[0],
    categories: (_, args) => page('id, name', 'categories', args),
    orders: (_, args) => page(ORDER, 'orders', args),
    pets: (_, args) => page(PET, 'pets', args),
  },
  PetPage: {
    totalCount: async ({ filter }) => {
      const { sql, values } = whereOf(filter);
      const [{ count }] = await query(`select count(*)::int from pets where ${sql}`, values);
      return count;
    },
  },
  Mutation: {
    placeOrder: async (_, { input: { petId, quantity } }) => {
      const [order] = await query(
        `with taken as (
          update inventory_items set quantity = inventory_items.quantity - $2
          from pets where pet_id = $1 and pets.id = pet_id and pets.status = 'available'
            and inventory_items.quantity >= $2
          returning pet_id
        ) insert into orders (pet_id, quantity) select pet_id, $2 from taken returning ${ORDER}`,
        [petId, quantity],
      );
      if (!order) throw new mercurius.ErrorWithProps('The pet is not for sale or out of stock.');
      return order;
    },
  },
};

/** Returns a loader that reads one row for each parent. */
const one = (text, keyOf) => async (queries) => {
  const keys = queries.map(({ obj }) => keyOf(obj));
  const rows = new Map((await query(text, [[...new Set(keys)]])).map((row) => [row.key, row]));
  return keys.map((key) => rows.get(key));
};

/** Returns a loader that reads a page for each parent in one statement; all parents in a batch request the same page. */
const pages = (columns, table, parent) => async (queries) => {
  const { first, after = '0' } = queries[0].params;
  const rows = await query(
    `select parent.id as parent, page.* from unnest($1::bigint[]) as parent (id)
    cross join lateral (select ${columns} from ${table}
      where ${parent} = parent.id and id > $3 order by id limit $2) as page`,
    [queries.map(({ obj }) => obj.id), first, after],
  );
  const nodes = new Map(queries.map(({ obj }) => [obj.id, []]));
  for (const row of rows) nodes.get(row.parent).push(row);
  return queries.map(({ obj }) => ({ nodes: nodes.get(obj.id) }));
};

const anyOf = 'any($1::bigint[])';
const loaders = {
  Category: { pets: pages(PET, 'pets', 'category_id') },
  Order: {
    pet: one(`select id as key, ${PET} from pets where id = ${anyOf}`, ({ pet_id }) => pet_id),
  },
  Pet: {
    category: one(
      `select id as key, id, name from categories where id = ${anyOf}`,
      ({ category_id }) => category_id,
    ),
    inventory: one(
      `select pet_id as key, quantity from inventory_items where pet_id = ${anyOf}`,
      ({ id }) => id,
    ),
    orders: pages(ORDER, 'orders', 'pet_id'),
  },
};

const app = Fastify();
await app.register(mercurius, { schema, resolvers, loaders, jit: 1 });
await app.listen({ port: Number(PORT), host: '127.0.0.1' });
