// The baseline: the least work that can serve these tables. It is node:http with at most one prepared statement for
// each request, and PostgreSQL writes the JSON. It reads the operation's name and the variables, but not the document.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';

import { Pool } from 'pg';

const { DATABASE_URL, PORT } = process.env;
const pool = new Pool({ connectionString: DATABASE_URL, max: 10 });

// Skips parsing the JSON.
const types = { getTypeParser: () => String };

const DATE = `to_char(ship_date at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const ORDER = `'id', o.id::text, 'quantity', quantity, 'shipDate', ${DATE}, 'complete', complete`;
const PET = `'id', p.id::text, 'name', p.name`;
const WHOLE_PET = `${PET}, 'status', upper(p.status::text),
  'category', json_build_object('id', c.id::text, 'name', c.name)`;

const data = (name: string, value: string): string =>
  `select json_build_object('data', json_build_object('${name}', ${value}))`;
const listOf = (row: string, from: string, id = 'p.id'): string =>
  `(select json_build_object('nodes', coalesce(json_agg(json_build_object(${row}) order by ${id}), '[]'))
    from ${from})`;
const after = (table: string, count: number, where = 'true'): string =>
  `(select * from ${table} where id > $1 and ${where} order by id limit ${count})`;

const FILTER = `status = 'available' and category_id = $2`;

const STATEMENTS: Readonly<Record<string, string>> = {
  OnePet: data(
    'pet',
    `(select json_build_object(${WHOLE_PET}) from pets p join categories c on c.id = category_id where p.id = $1)`,
  ),
  Pets: data(
    'pets',
    listOf(WHOLE_PET, `${after('pets', 20)} p join categories c on c.id = category_id`),
  ),
  Orders: data(
    'orders',
    listOf(
      `${ORDER}, 'pet', json_build_object(${PET}, 'category', json_build_object('name', c.name))`,
      `${after('orders', 50)} o join pets p on p.id = pet_id join categories c on c.id = category_id`,
      'o.id',
    ),
  ),
  PetsOfCategories: data(
    'categories',
    listOf(
      `'id', c.id::text, 'name', c.name, 'pets', ${listOf(
        `${PET}, 'inventory', json_build_object('quantity', quantity)`,
        `${after('pets', 10, 'category_id = c.id')} p join inventory_items on pet_id = p.id`,
      )}`,
      `(select * from categories order by id limit 20) c`,
      'c.id',
    ),
  ),
  OrdersOfPets: data(
    'pets',
    listOf(
      `${PET}, 'orders', ${listOf(ORDER, `(select * from orders where pet_id = p.id order by id limit 3) o`, 'o.id')}`,
      `${after('pets', 50)} p`,
    ),
  ),
  FilteredPets: data('pets', listOf(PET, `${after('pets', 20, FILTER)} p`)),
  CountedPets: data(
    'pets',
    `(select json_build_object('totalCount', (select count(*) from pets where ${FILTER}),
      'nodes', json_agg(json_build_object(${PET}) order by p.id)) from ${after('pets', 20, FILTER)} p)`,
  ),
  PetsByName: data(
    'pets',
    listOf(PET, `(select * from pets where name ilike '%' || $1 || '%' order by id limit 20) p`),
  ),
  PlaceOrder: `with taken as (
      update inventory_items i set quantity = i.quantity - $2::integer from pets p
      where pet_id = $1 and p.id = pet_id and status = 'available' and i.quantity >= $2
      returning p.id, p.name
    ), o as (
      insert into orders (pet_id, quantity) select id, $2 from taken returning quantity, complete
    ) ${data('placeOrder', `json_build_object('quantity', o.quantity, 'complete', complete, 'pet', json_build_object(${PET}))`)}
    from o, taken p`,
  RestPet: `select json_build_object('id', id, 'name', name, 'categoryId', category_id, 'status', status)
    from pets where id = $1`,
  // Joining strings is twice as fast as PostgreSQL's JSON functions. No value here needs escaping.
  RestOrders: `select '[' || string_agg('{"id":' || id || ',"petId":' || pet_id || ',"quantity":' || quantity
      || ',"complete":' || complete || coalesce(',"shipDate":"' || ${DATE} || '"', '') || '}', ',') || ']'
    from (select * from orders where id > $2 order by id limit $1) o`,
};

/** Returns the name of the statement for a request, and its parameters. */
async function read(request: IncomingMessage): Promise<[name: string, values: unknown[]]> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  if (pathname === '/store/orders') {
    return ['RestOrders', [searchParams.get('limit'), searchParams.get('after')]];
  }
  if (pathname !== '/graphql') return ['RestPet', [pathname.slice('/pets/'.length)]];
  const { operationName, variables } = (await json(request)) as {
    operationName: string;
    variables: Record<string, unknown>;
  };
  const { after: cursor, ...others } = variables;
  const values = Object.values(others);
  return [operationName, cursor === undefined ? values : [cursor, ...values]];
}

/** Returns the response, which is constant for a request without a statement. */
async function toBody(name: string, values: unknown[]): Promise<string> {
  const text = STATEMENTS[name];
  if (text === undefined) return '{"data":{"__typename":"Query"}}';
  const { rows } = await pool.query<[string]>({ name, text, values, types, rowMode: 'array' });
  const [body] = rows[0] ?? ['{}'];
  return body;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await toBody(...(await read(request)));
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    response.writeHead(500).end(String(error));
  });
}).listen(Number(PORT), '127.0.0.1');
