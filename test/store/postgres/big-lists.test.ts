import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { type Gateway, startGateway } from '../../support/gateway.ts';

const ORDERS = 200_000;
const PAGE = 1000;

let gateway: Gateway;

const fill = async (from: number, to: number): Promise<number> =>
  gateway.db.prisma.$executeRaw`
    insert into orders (id, pet_id, quantity, ship_date, complete)
    select n, 1, n % 9 + 1, case when n % 3 = 0 then timestamptz '2026-01-01' end, n % 2 = 0
    from generate_series(${from}::integer, ${to}::integer) as n`;

beforeAll(async () => {
  // Time enough to fill it, however busy the machine is.
  gateway = await startGateway({ STATEMENT_TIMEOUT_MS: '60000' });
  await gateway.db.prisma.category.create({ data: { name: 'Cats' } });
  await gateway.db.prisma.pet.create({ data: { name: 'Cleo', categoryId: 1n } });
});
afterAll(() => gateway.close());
beforeEach(() => void (gateway.statements.length = 0));

/** Asks for all orders and gives the answer, of which nothing is read yet. */
async function openList(): Promise<IncomingMessage> {
  const request = get(`${gateway.url}/store/orders`, { agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

interface Reading {
  orders: number;
  bytes: number;
  /** The most that was in use of the heap while it was read, in MB, garbage apart. */
  heapMb: number;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapMb(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1024 / 1024;
}

const SAMPLES = 10;

/** Reads an answer to its end, checking each order as it comes and keeping none. */
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

/** How many statements there are once no more come. */
async function settledStatements(): Promise<number> {
  let count = -1;
  while (count !== gateway.statements.length) {
    count = gateway.statements.length;
    await sleep(300);
  }
  return count;
}

describe('the answer with all orders', () => {
  it('is complete, in the order of their ids, and takes no more memory the longer it is', async () => {
    await fill(1, ORDERS / 10);
    await read(await openList(), ORDERS / 10);
    const short = await read(await openList(), ORDERS / 10);
    await fill(ORDERS / 10 + 1, ORDERS);
    gateway.statements.length = 0;
    const long = await read(await openList(), ORDERS);

    expect([short.orders, long.orders]).toEqual([ORDERS / 10, ORDERS]);
    expect(long.bytes).toBeGreaterThan(10 * short.bytes);
    expect(gateway.statements).toHaveLength(ORDERS / PAGE);
    expect(long.heapMb - short.heapMb).toBeLessThan(5);
  });
});

describe('a reader that pauses', () => {
  it('is waited for, and then gets the rest', async () => {
    const response = await openList();
    const waiting = await settledStatements();
    // What fits into the buffers of the two sockets, which is for the system to say.
    expect(waiting).toBeLessThan((ORDERS / PAGE) * 0.75);

    expect((await read(response, ORDERS)).orders).toBe(ORDERS);
    expect(gateway.statements).toHaveLength(ORDERS / PAGE);
  });
});

describe('a reader that leaves', () => {
  it.each([
    ['before it has read anything', 0],
    ['after a part', 1_000_000],
  ])('ends the queries: %s', async (_when, bytes) => {
    const response = await openList();
    let received = 0;
    while (received < bytes) {
      const chunk = response.read() as Buffer | null;
      if (chunk) received += chunk.length;
      else await once(response, 'readable');
    }
    response.destroy();

    expect(await settledStatements()).toBeLessThan(ORDERS / PAGE / 2);
    expect(gateway.loggedErrors).toEqual([]);
    expect((await gateway.rest('/store/orders?limit=1')).status).toBe(200);
  });
});
