import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { WebSocket } from 'ws';

import { openCopyOnPostgres } from '../../support/databases.ts';
import { gateway, useGateway, useOther } from '../../support/gateway.ts';
import { openEvents, openInitialized, type RawSocket, untilNoStreams } from '../../support/live.ts';
import { makePet } from '../../support/make.ts';
import { post, TIMES_UNTIL_COMPILED } from '../../support/post.ts';
import { begin, countLockWaits, holdLock } from '../../support/postgres.ts';
import { repeat } from '../../support/repeat.ts';

const POOL_SIZE = 4;
const MAX_HEAVY = POOL_SIZE / 2;
// Longer than any test: the test moves a fake clock forward.
const RESPONSE_TIMEOUT_MS = 500_000;

// Longer than any test, so that no statement times out.
const patient = { STATEMENT_TIMEOUT_MS: '600000', CONNECT_TIMEOUT_MS: '600000' };
useGateway({ ...patient, POOL_SIZE: String(POOL_SIZE) }, openCopyOnPostgres);
const hasty = useOther({ RESPONSE_TIMEOUT_MS: String(RESPONSE_TIMEOUT_MS) });
let url = '';
beforeAll(async () => {
  url = gateway.databaseUrl;
  await makePet(gateway, { stock: 100 });
});
afterAll(() => void hasty.loggedErrors.splice(0));

let unlock = async (): Promise<void> => {};
const sockets = new Set<WebSocket>();
afterEach(async () => {
  vi.useRealTimers();
  for (const socket of sockets) socket.terminate();
  sockets.clear();
  await unlock();
  await untilNoStreams(gateway);
});

async function lock(table: string): Promise<void> {
  const release = await holdLock(url, `lock table ${table}`);
  unlock = async () => {
    unlock = async () => {};
    await release();
  };
}

async function expectWaiting(statements: number): Promise<void> {
  await expect.poll(() => countLockWaits(url), { interval: 10 }).toBe(statements);
}

type Leave = () => void;

function askByHttp(query: string): Leave {
  const controller = new AbortController();
  post(gateway, { query }, controller).catch(() => {});
  return () => controller.abort();
}

async function askByWebSocket(query: string): Promise<Leave> {
  const opened = await openInitialized(gateway);
  sockets.add(opened.socket);
  opened.send({ type: 'subscribe', id: '1', payload: { query } });
  return () => opened.send({ type: 'complete', id: '1' });
}

/** The ways in which clients stop waiting for a query. Each returns a function that stops waiting. */
const WAYS: Record<string, (query: string) => Leave | Promise<Leave>> = {
  'closes its connection': askByHttp,
  'completes its operation on a WebSocket': askByWebSocket,
  'has waited for RESPONSE_TIMEOUT_MS': (query) => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    void post(hasty, { query });
    return () => {
      vi.advanceTimersByTime(RESPONSE_TIMEOUT_MS);
      vi.useRealTimers();
    };
  },
};

async function askTwice(query: string): Promise<[RawSocket, RawSocket]> {
  const both = [await openInitialized(gateway), await openInitialized(gateway)] as const;
  for (const { socket } of both) sockets.add(socket);
  // In one tick of this process, which runs the gateway too.
  for (const one of both) one.send({ type: 'subscribe', id: '1', payload: { query } });
  return [...both];
}

async function changeWithLock(): Promise<void> {
  // This transaction starts first, because the lock's transaction would hold back the changes of later ones.
  const client = await begin(url, `insert into categories (name) values ('Cats')`);
  await lock('pets');
  await client.query('commit');
  await client.end();
}

async function compile(query: string): Promise<void> {
  for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
    await gateway.data(query);
    await hasty.data(query);
  }
}

async function expectFullPool(): Promise<void> {
  await lock('pets');
  const all = Array.from({ length: POOL_SIZE }, (_, index) =>
    gateway.data(`{ pets(first: ${index + 1}) { nodes { id } } }`),
  );
  await expectWaiting(POOL_SIZE);
  await unlock();
  expect(await Promise.all(all)).toHaveLength(POOL_SIZE);
}

describe.each(Object.keys(WAYS))('a client that %s', (way) => {
  const ask = WAYS[way] ?? askByHttp;

  it.each([
    ['a query that graphql-js executes', 'nodes { name }', false],
    ['a compiled query', 'nodes { id }', true],
  ])('has its statement cancelled on PostgreSQL: %s', async (_how, fields, isCompiled) => {
    const query = `{ pets { ${fields} } }`;
    if (isCompiled) await compile(query);
    await lock('pets');
    const leave = await ask(query);
    await expectWaiting(1);
    leave();
    await expectWaiting(0);
    await unlock();
    await expectFullPool();
  });

  it('has its queued statements dropped before they start', async () => {
    await lock('pets');
    const leave = await ask(
      `{ ${repeat(10, (n) => `n${n}: pets(filter: { name: "gone${n}" }) { nodes { id } }`)} }`,
    );
    await expectWaiting(MAX_HEAVY);
    gateway.statements.length = 0;
    leave();
    await expectWaiting(0);
    await unlock();
    // This query scans a table too, so it runs after all waiting statements.
    await gateway.data('{ pets(filter: { name: "last" }) { nodes { id } } }');
    const searches = gateway.statements.filter((statement) => statement.includes('from pets'));
    expect(searches).toHaveLength(MAX_HEAVY + 1);
  });
});

const LIST = '{ pets { nodes { id name } } }';

it.each([
  ['a query that graphql-js executes', false],
  ['a compiled query', true],
])(
  'a statement that several clients share returns its result to the clients that remain: %s',
  async (_how, isCompiled) => {
    const query = isCompiled ? LIST : LIST.replace('name', 'status');
    if (isCompiled) await compile(query);
    await lock('pets');
    gateway.statements.length = 0;
    const [leaving, staying] = await askTwice(query);
    await expectWaiting(1);
    const leave = askByHttp('{ categories { nodes { pets { nodes { id } } } } }');
    await expectWaiting(2);
    leaving.send({ type: 'complete', id: '1' });
    leave();
    // The HTTP client disconnected after the WebSocket's message, so the gateway has received both.
    await expectWaiting(1);
    await unlock();
    expect(await staying.message()).toMatchObject({ payload: { data: { pets: {} } } });
    expect(gateway.statements.filter((text) => text.includes(' pets'))).toHaveLength(2);
  },
);

it.each([
  ['an insert of one row', 'createCategory(input: { name: "an insert of one row" })', 'categories'],
  [
    'a transaction',
    'createCategory(input: { name: "a transaction" }, idempotencyKey: "gone")',
    'categories',
  ],
  ['a single statement', 'placeOrder(input: { petId: "1", quantity: 7 })', 'orders'],
])('a write whose client disconnected is completed: %s', async (kind, mutation, table) => {
  await lock(table);
  const leaveWrite = askByHttp(`mutation { ${mutation} { __typename } }`);
  await expectWaiting(1);
  const leaveRead = askByHttp(`{ ${table} { nodes { id } } }`);
  await expectWaiting(2);
  leaveWrite();
  leaveRead();
  // Only the read was cancelled; the write still waits for the lock.
  await expectWaiting(1);
  await unlock();
  const rows = (): Promise<unknown> =>
    table === 'orders'
      ? gateway.data('{ orders(filter: { petId: 1 }) { nodes { quantity } } }')
      : gateway.data('{ categories { nodes { name } } }');
  const written = table === 'orders' ? { quantity: 7 } : { name: kind };
  await expect
    .poll(rows)
    .toMatchObject({ [table]: { nodes: expect.arrayContaining([written]) as unknown } });
});

const QUERY = 'subscription { categoryChanged { after { pets { nodes { id } } } } }';

it('the result of a subscription is no longer computed when all its streams have closed', async () => {
  const streams = [await openEvents(gateway, QUERY), await openEvents(gateway, QUERY)];
  await changeWithLock();
  await expectWaiting(1);
  for (const stream of streams) stream.disconnect();
  await expectWaiting(0);
});
