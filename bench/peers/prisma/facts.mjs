// Shows what bench/README.md says about this stack: npx tsx bench/peers/prisma/facts.mjs 2>/dev/null
import { execFileSync } from 'node:child_process';

import { PrismaPg } from '@prisma/adapter-pg';

import { createDatabaseOn, runSql, startPostgres } from '../../../test/support/postgres.ts';
import { CONTENDERS, start } from '../../contenders.ts';
import { Store } from '../../store.ts';
import { PrismaClient } from './generated/prisma/client.ts';

const LARGE_ID = 2n ** 53n + 1n;
const store = new Store(10_000);

const say = (who, fact, value) => void process.stdout.write(`${who}: ${fact}: ${value}\n`);

async function createStore(server) {
  const url = await createDatabaseOn(server.url);
  const env = { DATABASE_URL: url, LOG_LEVEL: 'warn' };
  execFileSync(process.execPath, ['dist/migrate.js'], { env, stdio: 'inherit' });
  for (const statement of store.fillStatements) await runSql(url, statement);
  return url;
}

async function send({ url }, query) {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ query });
  const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body });
  return response.text();
}

const placeOrder = (running, petId, more = '') =>
  send(
    running,
    `mutation { placeOrder(input: { petId: "${petId}", quantity: 1 }${more}) {
      __typename ... on Order { id } } }`,
  );

/** Returns how many orders were placed for a pet. */
async function countOrders(url, petId) {
  const conditions = `pet_id = ${petId} and id > ${store.orders}`;
  return (await runSql(url, `select from orders where ${conditions}`)).length;
}

/** Orders the last unit of a pet for many buyers at the same time. */
async function race(running, url, petId) {
  await runSql(url, `update inventory_items set quantity = 1 where pet_id = ${petId}`);
  await Promise.all(Array.from({ length: 50 }, () => placeOrder(running, petId)));
  return `${await countOrders(url, petId)} orders`;
}

const MANY = `{ categories(first: 50) { nodes { pets(first: 100) { nodes { orders(first: 100) { nodes {
  pet { category { pets(first: 10) { nodes { id name } } } } } } } } } } }`;

async function showResponses(name, running, url) {
  say(name, '50 buyers of the last unit', await race(running, url, 3));
  const key = name === 'gateway' ? ', idempotencyKey: "1"' : '';
  for (let time = 0; time < 2; time++) await placeOrder(running, 9, key);
  say(name, 'an order that is sent twice', `${await countOrders(url, 9)} orders`);

  await runSql(
    url,
    `insert into pets (id, name, category_id) values (${LARGE_ID}, 'Large', 1);
    insert into orders (id, pet_id, quantity) values (${LARGE_ID}, ${LARGE_ID}, 1)`,
  );
  const nested = `{ pet(id: "${LARGE_ID}") { orders { nodes { id pet { id } } } } }`;
  say(name, `the id ${LARGE_ID}`, await send(running, nested));

  const begin = performance.now();
  const answer = await send(running, MANY);
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  say(
    name,
    'a small query for many rows',
    `${answer.length} bytes in ${seconds} s: ${answer.slice(0, 90)}`,
  );
}

const toIds = (rows) => rows.map(({ id }) => id).join();

/** Shows what the documented use of Prisma Client does, without this folder's replacement of cursors. */
async function showClient(url) {
  const name = 'Prisma Client';
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });

  const id = await prisma.$transaction(async (tx) => {
    const order = await tx.order.create({ data: { petId: 1n, quantity: 1 } });
    await tx.order.create({ data: { petId: -1n, quantity: 1 } }).catch(() => 'no such pet');
    return order.id;
  });
  const found = await prisma.order.count({ where: { id } });
  say(name, 'a transaction that catches an error', `returns an order; ${found} orders are written`);

  const page = { orderBy: { id: 'asc' }, take: 3 };
  const after = { ...page, cursor: { id: 2n }, skip: 1 };
  const where = { status: 'sold' };
  const before = await prisma.pet.findMany({ where, ...after });
  await prisma.pet.update({ where: { id: 2n }, data: { status: 'available' } });
  const since = await prisma.pet.findMany({ where, ...after });
  say(name, 'sold pets after pet 2', `${toIds(before)}; when it is sold no more: ${toIds(since)}`);

  const lists = { join: page, query: page, 'join, after a cursor': after };
  for (const [strategy, pets] of Object.entries(lists)) {
    await runSql(url, 'select pg_stat_statements_reset()');
    const [relationLoadStrategy] = strategy.split(',');
    const list = { relationLoadStrategy, ...page, take: 20, include: { pets } };
    const categories = await prisma.category.findMany(list);
    const [read] = await runSql(
      url,
      `select json_agg(rows) as rows from pg_stat_statements where query like 'SELECT%'`,
    );
    const returned = categories.flatMap((category) => category.pets).length;
    say(
      name,
      `3 pets of each of 20 categories (${strategy})`,
      `${returned} pets; rows of the statements: ${JSON.stringify(read)}`,
    );
  }
  await prisma.$disconnect();
}

const server = await startPostgres(['fsync=off', 'shared_preload_libraries=pg_stat_statements']);
try {
  for (const contender of CONTENDERS.filter(({ name }) => ['gateway', 'prisma'].includes(name))) {
    const url = await createStore(server);
    const running = await start(contender, process.execPath, url);
    try {
      await showResponses(contender.name, running, url);
    } finally {
      await running.stop();
    }
  }
  const url = await createStore(server);
  await runSql(url, 'create extension pg_stat_statements');
  await showClient(url);
} finally {
  await server.remove();
}
