import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';

import { connectTo, endOf, placeOrders, REQUEST } from '../../support/callers.ts';
import { openCopyOnPostgres, useProgramStore } from '../../support/databases.ts';
import { type Gateway, startOther, useGateway } from '../../support/gateway.ts';
import { makePet } from '../../support/make.ts';
import { countConnections } from '../../support/postgres.ts';
import { startProgram } from '../../support/program.ts';

const STOP_TIMEOUT_MS = 30_000;
// The longest that a shutdown takes if it does not wait for the timeout.
const SOON_MS = 15_000;

// Its database is shared by all gateways that the tests start.
useGateway({}, openCopyOnPostgres);
let gateway: Gateway;

async function start(stopDelayMs: number, stopTimeoutMs = STOP_TIMEOUT_MS): Promise<void> {
  const environment = {
    STOP_DELAY_MS: String(stopDelayMs),
    STOP_TIMEOUT_MS: String(stopTimeoutMs),
  };
  gateway = await startOther(environment);
}

/** Stops the gateway and returns how long that took, in milliseconds. */
async function stop(): Promise<number> {
  const begin = performance.now();
  await gateway.stop();
  return performance.now() - begin;
}

const isListening = (): Promise<boolean> =>
  gateway.rest('/health').then(
    () => true,
    () => false,
  );

async function untilNotListening(): Promise<void> {
  await expect.poll(isListening).toBe(false);
}

async function countOrders(petId: string | null = null): Promise<number> {
  const [row] = await gateway.db.query<{ count: number }>(sql`select count(*)::integer as count
    from orders where coalesce(pet_id = ${petId}::bigint, true)`);
  return row?.count ?? Number.NaN;
}

/**
 * Creates orders and returns the number of all orders. Their list is 17 MB long; the buffers between a gateway and its
 * caller have held more than 4 MB.
 */
async function fillOrders(): Promise<number> {
  const petId = BigInt(await makePet(gateway));
  await gateway.db.transaction(async ({ write }) => {
    // Without foreign key checks, which take half the time.
    await write(sql`set local session_replication_role = replica`);
    for (let statement = 0; statement < 4; statement += 1) {
      await write(sql`
        insert into orders (pet_id, quantity) select ${petId}::bigint, 1 from generate_series(1, 50000)`);
    }
  });
  return countOrders();
}

interface SlowRequest {
  readonly request: ClientRequest;
  readonly response: Promise<IncomingMessage>;
}

const FIRST_BYTES = 10;

/** Sends the first bytes of an operation; the caller sends the rest. */
async function beginRequest(body: string): Promise<SlowRequest> {
  const request = httpRequest(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
  });
  const response = once(request, 'response').then(([message]) => message as IncomingMessage);
  await new Promise((resolve) => void request.write(body.slice(0, FIRST_BYTES), resolve));
  return { request, response };
}

describe('a gateway that is shutting down', () => {
  it('is not ready, but serves requests for a while, with `Connection: close` in each response', async () => {
    await start(5000);
    const stopped = gateway.stop();
    const ready = await gateway.rest('/ready');
    expect(ready.status).toBe(503);
    expect(await ready.json()).toEqual({
      code: 'SERVICE_UNAVAILABLE',
      message: 'The gateway is shutting down.',
      status: 503,
    });
    const paths = ['/health', '/pets/1', '/store/orders', '/graphql?query={__typename}'];
    for (const response of await Promise.all(paths.map((path) => gateway.rest(path)))) {
      expect(response.headers.get('connection')).toBe('close');
      expect(response.status).not.toBe(503);
      await response.text();
    }
    await stopped;
    expect(await isListening()).toBe(false);
  });

  it('immediately closes idle connections that have had a response, and a little later those that have not sent a request yet', async () => {
    await start(0);
    const silent = connectTo(gateway);
    const served = connectTo(gateway);
    served.write(REQUEST);
    await once(served, 'data');
    const ends = [silent, served].map(async (socket) => {
      await endOf(socket.resume());
      return performance.now();
    });
    expect(await stop()).toBeLessThan(SOON_MS);
    const [silentEnd = 0, servedEnd = 0] = await Promise.all(ends);
    expect(silentEnd - servedEnd).toBeGreaterThan(300);
  });

  it('completes a response that has started', async () => {
    await start(0);
    const count = await fillOrders();
    const response = await gateway.rest('/store/orders');
    const stopped = gateway.stop().then(() => 'stopped');
    await untilNotListening();
    expect(await Promise.race([stopped, Promise.resolve('sending')])).toBe('sending');
    expect(await response.json()).toHaveLength(count);
    await stopped;
  });

  it('serves a request on the connection of a subscription that it has ended, as a proxy sends', async () => {
    await start(0);
    const body = JSON.stringify({ query: 'subscription { petChanged { kind } }' });
    const socket = connectTo(gateway);
    let text = '';
    socket.on('data', (data) => (text += data.toString()));
    socket.write(
      'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
        `Accept: text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await expect.poll(() => text).toMatch(/connection: keep-alive\r\n.*\r\n\r\n./is);
    const stopped = gateway.stop();
    while (!text.endsWith('\r\n0\r\n\r\n')) await once(socket, 'data');
    // Several checks for connections that can be closed.
    await sleep(300);
    text = '';
    socket.write(REQUEST);
    if (!socket.closed) await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1\.1 \d+ .*connection: close\r\n/is);
    await stopped;
  });

  it('serves a request that was still arriving, and then closes its connection', async () => {
    await start(0);
    const petId = await makePet(gateway);
    const body = JSON.stringify({ query: `{ pet(id: "${petId}") { id } }` });
    const { request, response } = await beginRequest(body);
    const stopped = stop();
    await untilNotListening();
    request.end(body.slice(FIRST_BYTES));
    const chunks = await (await response).toArray();
    expect(JSON.parse(Buffer.concat(chunks).toString())).toEqual({ data: { pet: { id: petId } } });
    expect(await stopped).toBeLessThan(SOON_MS);
  });

  it('aborts requests that are still open at the timeout', async () => {
    await start(0, 1000);
    const { response } = await beginRequest('{ "query": "{ __typename }" }');
    const cut = response.catch((error: NodeJS.ErrnoException) => error.code);
    const ms = await stop();
    expect(ms).toBeGreaterThanOrEqual(990);
    expect(ms).toBeLessThan(SOON_MS);
    expect(await cut).toBe('ECONNRESET');
  });

  it('responds to each order that it places, even under load', async () => {
    await start(300);
    const petId = await makePet(gateway, { stock: 1_000_000 });
    const placed: string[] = [];
    const callers = Array.from({ length: 20 }, () => placeOrders(gateway, petId, placed));
    await expect.poll(() => placed.length).toBeGreaterThan(20);
    await gateway.stop();
    for (const error of await Promise.all(callers)) {
      // UND_ERR_SOCKET means that fetch had connected, but its request had not arrived.
      const code = expect.stringMatching(/^(ECONN(REFUSED|RESET)|UND_ERR_SOCKET)$/);
      expect(error).toMatchObject({ cause: { code } });
    }
    expect(await countOrders(petId)).toBe(placed.length);
  });
});

const store = useProgramStore();

describe('a gateway that receives a stop signal', () => {
  it.each([
    ['SIGTERM', 300, '0'],
    ['SIGHUP', 50, '3000'],
  ] as const)(
    'waits until each connected client has its response: %s',
    async (signal, count, delay) => {
      const program = await startProgram({
        ...store.environment,
        SAMPLE_STORE: 'true',
        STOP_DELAY_MS: delay,
        STOP_TIMEOUT_MS: '60000',
      });
      // The system holds the connections until the gateway runs again and accepts them one by one.
      program.process.kill('SIGSTOP');
      const callers = Array.from({ length: count }, () => connectTo(program));
      await Promise.all(callers.map((caller) => once(caller, 'connect')));
      const ends = Promise.all(callers.map(endOf));
      program.process.kill(signal);
      program.process.kill('SIGCONT');
      await program.logged(/^Stopping\.$/);
      // A terminal that closes may send SIGHUP twice.
      if (signal === 'SIGHUP') program.process.kill(signal);
      for (const caller of callers) caller.write(REQUEST);
      expect(new Set(await ends)).toEqual(new Set(['HTTP/1.1 200 OK']));
      expect(await program.end).toBe(0);
      expect(await endOf(connectTo(program))).toBe('ECONNREFUSED');
      expect(program.messages.filter((message) => message === 'Stopping.')).toHaveLength(1);
      expect(program.messages.filter((message) => message === 'A request ended.')).toHaveLength(
        count,
      );
      await expect.poll(() => countConnections(store.url)).toBe(0);
    },
  );

  it('stops immediately on a second signal', async () => {
    // If it waited, the test would time out.
    const program = await startProgram({ ...store.environment, STOP_DELAY_MS: '600000' });
    program.process.kill('SIGTERM');
    await program.logged(/^Stopping\.$/);
    expect(await program.stop()).toBe(1);
  });
});
