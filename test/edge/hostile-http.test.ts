import { connect, type Socket } from 'node:net';

import {
  array,
  assert,
  asyncProperty,
  constantFrom,
  dictionary,
  oneof,
  string,
  uint8Array,
} from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { type Gateway, startGateway } from '../support/gateway.ts';
import { HOSTILE_REQUESTS, HOSTILE_TYPES } from '../support/hostile-http.ts';
import { HOSTILE_BYTES } from '../support/hostile-raw.ts';
import { expectHarmless, expectServed, expectUnharmed } from '../support/hostile.ts';
import { makePet } from '../support/make.ts';
import { requestRaw, sendRaw } from '../support/raw.ts';

let gateway: Gateway;
let petId: string;
beforeAll(async () => {
  // A name of another host would be refused before it could do harm.
  gateway = await startGateway({ AUTH_NONE_ANYWHERE: 'true' });
  petId = await makePet(gateway, { name: 'Luna' });
});
afterAll(() => gateway.close());
// Whoever closes without a word may have stopped to listen.
afterEach(async () => {
  expectUnharmed(gateway);
  await expectServed(gateway, petId);
});

describe('hostile HTTP', { timeout: 10_000 }, () => {
  it.each(
    HOSTILE_REQUESTS.map((request) => [JSON.stringify(request).slice(0, 100), request] as const),
  )('in the head of a request does no harm: %s', async (sent, { method, target, headers }) => {
    expectHarmless(await requestRaw(gateway, method, target, headers), sent + target);
  });

  it('reaches what answers, whatever host it names', async () => {
    for (const host of ['evil.example', '@', '']) {
      const { status } = await requestRaw(gateway, 'GET', '/graphql?query={__typename}', {
        Host: host,
      });
      expect(status).toBe(200);
    }
  });

  it.each(
    HOSTILE_TYPES.map((headers) => [JSON.stringify(headers).slice(0, 100), headers] as const),
  )('in the headers of a POST does no harm: %s', async (_what, headers) => {
    const body = '{"query":"{ __typename }"}';
    const all = { 'Content-Type': 'application/json', 'Content-Length': '26', ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    const bytes = `POST /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${lines.join('')}\r\n${body}`;
    expectHarmless(await sendRaw(gateway, bytes, { wait: true }), bytes);
  });

  it.each(HOSTILE_BYTES)('on a connection does no harm: %s', async (_what, bytes) => {
    expectHarmless(await sendRaw(gateway, bytes), bytes.toString());
  });
});

/** Opens a connection and sends bytes. */
function open(bytes = ''): Socket {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1').on('error', () => {});
  socket.write(bytes);
  return socket;
}

describe('a hostile connection', () => {
  const HEAD =
    'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{';
  const LISTS = 'GET /store/orders HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(20);

  it.each([
    ['says nothing', ''],
    ['begins a head', 'GET /pets/1 HTTP/1.1\r\nHost: localhost\r\nX: '],
    ['begins a body', HEAD],
    ['reads no answer', LISTS],
  ])('that %s, 300 times, keeps nobody else waiting', async (_what, bytes) => {
    const sockets = Array.from({ length: 300 }, () => open(bytes).pause());
    await expectServed(gateway, petId);
    for (const socket of sockets) socket.destroy();
  });

  it.each([
    ['in a head', 'GET /pets/1 HTTP/1.1\r\nHost'],
    ['in a body', HEAD],
    ['before its answers', LISTS],
  ])('that is reset %s, 100 times, is forgotten', async (_what, bytes) => {
    const closed = Array.from(
      { length: 100 },
      () =>
        new Promise((resolve) => {
          const socket = open().once('close', resolve);
          socket.once('connect', () => socket.write(bytes, () => socket.resetAndDestroy()));
        }),
    );
    await Promise.all(closed);
    await expectServed(gateway, petId);
  });
});

const NUM_RUNS = 60;

describe('arbitrary HTTP', () => {
  it('does no harm as a target and a header', async () => {
    const part = oneof(
      constantFrom(
        '/',
        'pets',
        'graphql',
        'store',
        'orders',
        '?',
        '&',
        '=',
        '%',
        '%2f',
        '..',
        '1',
        'query',
        'limit',
        '{__typename}',
        'assets',
        '#',
        ';',
      ),
      string({ unit: 'grapheme-ascii', maxLength: 5 }),
    );
    const targets = array(part, { maxLength: 12 }).map((all) => `/${all.join('')}`);
    const headers = dictionary(
      constantFrom(
        'Accept',
        'If-None-Match',
        'Host',
        'Origin',
        'Content-Type',
        'Expect',
        'Range',
        'TE',
      ),
      string({ unit: 'grapheme-ascii', maxLength: 60 }),
    );
    const property = asyncProperty(targets, headers, async (target, given) => {
      const lines = Object.entries({ Host: 'x', Connection: 'close', ...given }).map(
        ([name, text]) => `${name}: ${text}\r\n`,
      );
      const bytes = `GET ${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
      expectHarmless(await sendRaw(gateway, bytes, { wait: true }), bytes);
    });
    await assert(property, { numRuns: NUM_RUNS });
  });

  it('does no harm as bytes', async () => {
    const piece = oneof(
      constantFrom(
        'GET ',
        'POST ',
        '/graphql',
        '/pets/1',
        ' HTTP/1.1',
        '\r\n',
        '\r\n\r\n',
        'Host: localhost',
        'Content-Length: 5',
        'Transfer-Encoding: chunked',
        '5\r\nabcde\r\n',
        '0\r\n\r\n',
        ': ',
        '{"query":',
      ),
      uint8Array({ maxLength: 10 }),
    );
    const property = asyncProperty(array(piece, { maxLength: 20 }), async (pieces) => {
      const bytes = Buffer.concat(pieces.map((one) => Buffer.from(one as string)));
      expectHarmless(await sendRaw(gateway, bytes), bytes.toString());
    });
    await assert(property, { numRuns: NUM_RUNS });
  });
});
