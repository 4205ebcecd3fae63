import { connect, type Socket } from 'node:net';

import { assert, asyncProperty } from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { arbitraryBytes, arbitraryRequests } from '../support/arbitrary.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { HOSTILE_REQUESTS, HOSTILE_TYPES } from '../support/hostile-http.ts';
import { HOSTILE_BYTES } from '../support/hostile-raw.ts';
import { expectHarmless, expectServed, expectUnharmed } from '../support/hostile.ts';
import { makePet } from '../support/make.ts';
import { requestRaw, sendRaw } from '../support/raw.ts';

let gateway: Gateway;
let petId: string;
beforeAll(async () => {
  // Otherwise the gateway rejects every Host but localhost, before the rest is read.
  gateway = await startGateway({ AUTH_NONE_ANYWHERE: 'true' });
  petId = await makePet(gateway, { name: 'Luna' });
});
afterAll(() => gateway.close());
afterEach(() => expectUnharmed(gateway));

// test/long runs thousands.
const NUM_RUNS = 50;

describe('hostile HTTP does no harm', { timeout: 10_000 }, () => {
  // A server that closed the connection without a response may have stopped listening.
  afterAll(() => expectServed(gateway, petId));

  it.each(
    HOSTILE_REQUESTS.map((request) => [JSON.stringify(request).slice(0, 100), request] as const),
  )('in the head of a request: %s', async (sent, { method, target, headers }) => {
    expectHarmless(await requestRaw(gateway, method, target, headers), sent + target);
  });

  it.each(
    HOSTILE_TYPES.map((headers) => [JSON.stringify(headers).slice(0, 100), headers] as const),
  )('in the headers of a POST: %s', async (_what, headers) => {
    const body = '{"query":"{ __typename }"}';
    const all = { 'Content-Type': 'application/json', 'Content-Length': '26', ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    const bytes = `POST /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${lines.join('')}\r\n${body}`;
    expectHarmless(await sendRaw(gateway, bytes, { wait: true }), bytes);
  });

  it.each(HOSTILE_BYTES)('as the bytes of a connection: %s', async (_what, bytes) => {
    expectHarmless(await sendRaw(gateway, bytes), bytes.toString());
  });

  it('in arbitrary requests', async () => {
    const property = asyncProperty(arbitraryRequests, async (bytes) => {
      expectHarmless(await sendRaw(gateway, bytes, { wait: true }), bytes);
    });
    await assert(property, { numRuns: NUM_RUNS });
  });

  it('in arbitrary bytes', async () => {
    const property = asyncProperty(arbitraryBytes, async (bytes) => {
      expectHarmless(await sendRaw(gateway, bytes), bytes.toString());
    });
    await assert(property, { numRuns: NUM_RUNS });
  });
});

describe('a gateway whose Host is not checked', () => {
  it.each(['evil.example', '@', ''])('answers a request for the host "%s"', async (host) => {
    const target = '/graphql?query={__typename}';
    expect((await requestRaw(gateway, 'GET', target, { Host: host })).status).toBe(200);
  });
});

/** Opens a connection and sends bytes. */
function open(bytes: string): Socket {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1').on('error', () => {});
  socket.write(bytes);
  return socket;
}

describe('many hostile connections', () => {
  const HEAD =
    'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{';
  const LISTS = 'GET /store/orders HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(20);

  it.each([
    ['send nothing', ''],
    ['begin a head', 'GET /pets/1 HTTP/1.1\r\nHost: localhost\r\nX: '],
    ['begin a body', HEAD],
    ['read no response', LISTS],
  ])('that %s do not keep other callers waiting', async (_what, bytes) => {
    const sockets = Array.from({ length: 100 }, () => open(bytes).pause());
    await expectServed(gateway, petId);
    for (const socket of sockets) socket.destroy();
  });

  it.each([
    ['in a head', 'GET /pets/1 HTTP/1.1\r\nHost'],
    ['in a body', HEAD],
    ['before their responses', LISTS],
  ])('that are reset %s do no harm', async (_what, bytes) => {
    // Linux may count a connection that was reset too early as waiting forever, up to 511.
    const closed = Array.from(
      { length: 30 },
      () =>
        new Promise((resolve) => {
          const socket = open('').once('close', resolve);
          socket.once('connect', () => socket.write(bytes, () => socket.resetAndDestroy()));
        }),
    );
    await Promise.all(closed);
    await expectServed(gateway, petId);
  });
});
