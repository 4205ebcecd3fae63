import { once } from 'node:events';
import {
  Agent,
  type ClientRequest,
  get,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { connect } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { type Gateway, startGateway } from '../support/gateway.ts';
import { makePet } from '../support/make.ts';

let gateway: Gateway;
beforeEach(async () => {
  gateway = await startGateway({ STOP_DELAY_MS: '300', STOP_TIMEOUT_MS: '20000' });
});
afterEach(() => gateway.close());

const later = (ms: number) => new Promise((resolve) => void setTimeout(resolve, ms));

const isRefused = (): Promise<boolean> =>
  gateway.rest('/health').then(
    () => false,
    () => true,
  );

/** Makes so many orders that an answer with all of them does not fit into the buffers on the way. */
async function fillOrders(): Promise<number> {
  const petId = BigInt(await makePet(gateway));
  return gateway.db.prisma.$executeRaw`
    insert into orders (pet_id, quantity) select ${petId}, 1 from generate_series(1, 50000)`;
}

/** Begins to send an operation; its end is left to the caller. */
function slowRequest(body: string): { request: ClientRequest; response: Promise<IncomingMessage> } {
  const request = httpRequest(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
  });
  const response = once(request, 'response').then(([message]) => message as IncomingMessage);
  request.write(body.slice(0, 10));
  return { request, response };
}

describe('a gateway that stops', () => {
  it('says so at /ready first, and still answers for a while, each answer the last of its connection', async () => {
    await gateway.close();
    gateway = await startGateway({ STOP_DELAY_MS: '4000' });
    const stopped = gateway.stop();
    const ready = await gateway.rest('/ready');
    expect(ready.status).toBe(503);
    expect(await ready.json()).toEqual({
      code: 'SERVICE_UNAVAILABLE',
      message: 'The gateway is stopping.',
      status: 503,
    });
    for (const path of ['/health', '/pets/1', '/store/orders', '/graphql?query={__typename}']) {
      const response = await gateway.rest(path);
      expect(response.headers.get('connection')).toBe('close');
      expect(response.status).not.toBe(503);
      await response.text();
    }
    await stopped;
    expect(await isRefused()).toBe(true);
  });

  it('ends connections that nobody uses, and does not wait for them', async () => {
    const agent = new Agent({ keepAlive: true });
    const response = await new Promise<IncomingMessage>(
      (resolve) => void get(`${gateway.url}/health`, { agent }, resolve),
    );
    response.resume();
    const begin = Date.now();
    await gateway.stop();
    expect(Date.now() - begin).toBeLessThan(10_000);
    agent.destroy();
  });

  it('sends an answer that has begun to its end', async () => {
    const count = await fillOrders();
    const response = await gateway.rest('/store/orders');
    const stopped = gateway.stop();
    await expect.poll(isRefused, { timeout: 10_000 }).toBe(true);
    expect(await response.json()).toHaveLength(count);
    await stopped;
  });

  it('answers a request that was still arriving', async () => {
    const petId = await makePet(gateway);
    const body = JSON.stringify({ query: `{ pet(id: "${petId}") { id } }` });
    const { request, response } = slowRequest(body);
    await later(100);
    const stopped = gateway.stop();
    await expect.poll(isRefused, { timeout: 10_000 }).toBe(true);
    request.end(body.slice(10));
    const chunks = await (await response).toArray();
    expect(JSON.parse(Buffer.concat(chunks).toString())).toEqual({ data: { pet: { id: petId } } });
    // The caller would keep the connection; the gateway does not wait for that.
    const begin = Date.now();
    await stopped;
    expect(Date.now() - begin).toBeLessThan(2000);
  });

  it('cuts what is still open at the deadline', async () => {
    await gateway.close();
    gateway = await startGateway({ STOP_DELAY_MS: '0', STOP_TIMEOUT_MS: '1000' });
    const { response } = slowRequest('{ "query": "{ __typename }" }');
    const cut = response.catch((error: NodeJS.ErrnoException) => error.code);
    await later(100);
    const begin = Date.now();
    await gateway.stop();
    expect(Date.now() - begin).toBeGreaterThanOrEqual(990);
    expect(Date.now() - begin).toBeLessThan(10_000);
    expect(await cut).toBe('ECONNRESET');
  });

  it('cuts no answer under load: no order is placed that was not acknowledged', async () => {
    const petId = await makePet(gateway, { stock: 1_000_000 });
    const query = `mutation { placeOrder(input: { petId: "${petId}", quantity: 1 }) { ... on Order { id } } }`;
    let placed = 0;
    const refusals: unknown[] = [];
    const work = async (): Promise<void> => {
      while (refusals.length < 20) {
        const answer = await gateway.graphql(query).catch((error: Error) => error);
        if (answer instanceof Error) refusals.push(answer.cause);
        else if (answer.data.placeOrder.id) placed += 1;
      }
    };
    const load = Array.from({ length: 20 }, work);
    await later(300);
    await gateway.stop();
    await Promise.all(load);
    for (const refusal of refusals) {
      // The last: fetch had connected, but its request had not arrived.
      expect(refusal).toMatchObject({
        code: expect.stringMatching(/^(ECONN(REFUSED|RESET)|UND_ERR_SOCKET)$/),
      });
    }
    expect(placed).toBeGreaterThan(0);
    expect(await gateway.db.prisma.order.count()).toBe(placed);
  });

  it('waits for nobody whom it refused, though they keep the connection', async () => {
    const { port } = new URL(gateway.url);
    const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
    socket.write('CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 405 /);
    const stopped = gateway.stop().then(() => true);
    expect(await Promise.race([stopped, later(10_000)])).toBe(true);
    socket.destroy();
  }, 20_000);
});
