import { METHODS } from 'node:http';
import { connect } from 'node:net';

import { expect, inject, it } from 'vitest';

import { useProgram, useProgramStore } from '../../support/databases.ts';
import { isReady } from '../../support/program.ts';
import { rounds } from '../../support/rounds.ts';

const ROUNDS = rounds(1, 5);
const AT_ONCE = 250;
const INFO = 30;

// Connections are handled the same way with both databases, and programs start faster with PostgreSQL.
const store = useProgramStore();
const program = useProgram(store, { REQUEST_TIMEOUT_MS: '200' });

const HOST = 'Host: localhost';
const BODY = '{"query":"{ __typename }"}';
const TYPE = 'Content-Type: application/json';
const LENGTH = `Content-Length: ${BODY.length}`;

const request = (line: string, headers: string[], body = ''): string =>
  `${[`${line} HTTP/1.1`, ...headers].join('\r\n')}\r\n\r\n${body}`;

/** Requests that node:http handles in different ways: serves, upgrades, continues or rejects. */
const requestsOf = (method: string): string[] => [
  request(`${method} a:1`, []),
  request(`${method} /pets/1`, [HOST]),
  request(`${method} /store/orders`, [HOST]).repeat(3),
  request(`${method} /docs`, [HOST, 'Connection: Upgrade', 'Upgrade: websocket']),
  request(`${method} /graphql`, [HOST, TYPE, LENGTH], BODY),
  request(`${method} /graphql`, [HOST, TYPE, LENGTH, 'Expect: 100-continue'], BODY),
  request(`${method} /graphql`, [HOST, TYPE, LENGTH, 'Expect: a miracle'], BODY),
  request(
    `${method} /graphql`,
    [HOST, TYPE, 'Transfer-Encoding: chunked'],
    `1a\r\n${BODY}\r\n0\r\n\r\n`,
  ),
  request(`${method} /`, [HOST, `X: ${'x'.repeat(20_000)}`]),
  request('GET /pets/1', [HOST]) + request(`${method} a:1`, [HOST], '\0'),
  `${method} / HTTP/9.9\r\n\r\n`,
];

/** The shares of a request that are sent before the connection breaks, from 1% to all of it. */
const SHARES = [0.01, 0.5, 0.99, 1];

const ENDINGS = ['reset', 'reset at the response', 'half-close', 'half-close and reset'] as const;

interface Attack {
  readonly bytes: string;
  readonly ending: (typeof ENDINGS)[number];
}

// CONNECT, which node:http treats differently, and two methods that have routes. `npm run test:long` uses all methods.
const SOME_METHODS = ['CONNECT', 'GET', 'POST'];

const ATTACKS: readonly Attack[] = (inject('isLong') ? METHODS : SOME_METHODS).flatMap((method) =>
  requestsOf(method).flatMap((whole) =>
    SHARES.flatMap((share) => {
      const bytes = whole.slice(0, Math.ceil(whole.length * share));
      return ENDINGS.map((ending) => ({ bytes, ending }));
    }),
  ),
);

const attack = (port: number, { bytes, ending }: Attack): Promise<void> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(bytes, () => {
        if (ending === 'reset') socket.resetAndDestroy();
        if (ending === 'half-close') socket.end();
        if (ending === 'half-close and reset') socket.end(() => socket.resetAndDestroy());
      });
    });
    socket.on('data', () => ending === 'reset at the response' && socket.resetAndDestroy());
    // The gateway may reset the connection first.
    socket.on('error', () => {});
    socket.on('close', () => resolve());
  });

it(
  'a gateway whose clients break their connections keeps running, and logs no warnings or errors',
  { timeout: 300_000 },
  async () => {
    const port = Number(new URL(program.url).port);
    const attacks = Array.from({ length: ROUNDS }, () => ATTACKS).flat();
    const attackAll = async (): Promise<void> => {
      for (let one = attacks.pop(); one; one = attacks.pop()) await attack(port, one);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, attackAll));
    expect(program.process.exitCode).toBeNull();
    expect(await isReady(program.url)).toBe(true);
    // Earlier releases of Node.js can't ignore an Upgrade, which the gateway announces once.
    const unexpected = program.entries.filter(
      ({ level, msg }) => level !== INFO && !msg.includes('the header Upgrade'),
    );
    expect(unexpected).toEqual([]);
  },
);
