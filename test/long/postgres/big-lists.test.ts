import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import sql from 'sql-template-tag';
import { beforeAll, beforeEach, expect, it } from 'vitest';

import { openCopyOnPostgres } from '../../support/databases.ts';
import { gateway, run, useGateway } from '../../support/gateway.ts';

const ORDERS = 200_000;
const PAGE = 1000;

const fill = async (from: number, to: number): Promise<unknown> =>
  gateway.db.write(sql`
    insert into orders (id, pet_id, quantity, ship_date, complete)
    select n, 1, n % 9 + 1, case when n % 3 = 0 then timestamptz '2026-01-01' end, n % 2 = 0
    from generate_series(${from}::integer, ${to}::integer) as n`);

// Filling the store may take long on a busy machine.
useGateway({ STATEMENT_TIMEOUT_MS: '60000' }, openCopyOnPostgres);
beforeAll(async () => {
  await run(`insert into categories (name) values ('Cats')`);
  await run(`insert into pets (name, category_id) values ('Cleo', 1)`);
});
beforeEach(() => void (gateway.statements.length = 0));

async function openList(): Promise<IncomingMessage> {
  const request = get(`${gateway.url}/store/orders`, { agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

interface Reading {
  orders: number;
  bytes: number;
  /** The largest heap while the list was read, in MB, without garbage. */
  heapMb: number;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapMb(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1024 / 1024;
}

const SAMPLES = 10;

/** Reads a whole response and checks each order without keeping it. */
async function read(response: IncomingMessage, expected: number): Promise<Reading> {
  let rest = '';
  let orders = 0;
  let bytes = 0;
  let heap = 0;
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    bytes += chunk.length;
    rest += bytes === chunk.length ? chunk.replace(/^\[/, ',') : chunk;
    const end = rest.lastIndexOf('}') + 1;
    if (end === 0) continue;
    if (!rest.startsWith(',')) throw new Error(`No comma before order ${orders + 1}.`);
    for (const { id } of JSON.parse(`[${rest.slice(1, end)}]`) as { id: number }[]) {
      orders += 1;
      if (id !== orders) throw new Error(`Order ${id} came at place ${orders}.`);
      if (orders % Math.floor(expected / SAMPLES) === 0) heap = Math.max(heap, heapMb());
    }
    rest = rest.slice(end);
  }
  expect(rest).toBe(']');
  return { orders, bytes, heapMb: heap };
}

const pagesRead = (): number => gateway.statements.filter((text) => text.includes('orders')).length;

/** Returns how many pages the gateway has read, once that number stops growing. */
async function settledPages(): Promise<number> {
  let pages = -1;
  while (pages !== pagesRead()) {
    pages = pagesRead();
    for (let turn = 0; turn < 20; turn += 1) await gateway.rest('/pets/1');
  }
  return pages;
}

it('the list of all orders is complete and sorted by id, and takes hardly more memory if it is ten times as long', async () => {
  await fill(1, ORDERS / 10);
  await read(await openList(), ORDERS / 10);
  const short = await read(await openList(), ORDERS / 10);
  await fill(ORDERS / 10 + 1, ORDERS);
  gateway.statements.length = 0;
  const long = await read(await openList(), ORDERS);

  expect([short.orders, long.orders]).toEqual([ORDERS / 10, ORDERS]);
  expect(long.bytes).toBeGreaterThan(10 * short.bytes);
  expect(pagesRead()).toBe(ORDERS / PAGE);
  expect(long.heapMb - short.heapMb).toBeLessThan(5);
});

it('a client that pauses while it reads a list makes the gateway pause its queries, and receives the rest when it continues', async () => {
  const response = await openList();
  // The buffers of the two sockets hold some pages; the operating system decides how many.
  expect(await settledPages()).toBeLessThan((ORDERS / PAGE) * 0.75);

  expect((await read(response, ORDERS)).orders).toBe(ORDERS);
  expect(pagesRead()).toBe(ORDERS / PAGE);
});
