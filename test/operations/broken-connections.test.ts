import { METHODS } from 'node:http';
import { connect } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { makeProgramStore, type ProgramStore } from '../support/databases.ts';
import { killPrograms, type Program, startProgram } from '../support/program.ts';

const CONNECTIONS = 10_000;
const AT_ONCE = 250;
/** pino's number for the level. */
const INFO = 30;

let store: ProgramStore;
let program: Program;
beforeAll(async () => {
  store = await makeProgramStore();
  program = await startProgram({ ...store.environment, REQUEST_TIMEOUT_MS: '200' });
});
afterAll(async () => {
  killPrograms();
  await store.remove();
});

const HOST = 'Host: localhost';
const BODY = '{"query":"{ __typename }"}';
const TYPE = 'Content-Type: application/json';
const LENGTH = `Content-Length: ${BODY.length}`;

const request = (line: string, headers: string[], body = ''): string =>
  `${[`${line} HTTP/1.1`, ...headers].join('\r\n')}\r\n\r\n${body}`;

/** A request for each way through node:http: serve, hand over, continue, reject. */
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

/** How much of a request is sent, from its first byte to the whole of it. */
const SHARES = [0.01, 0.5, 0.99, 1];

/** What a caller does once it has sent that. */
const ENDINGS = ['reset', 'reset at the answer', 'half-close', 'half-close and reset'] as const;

interface Attack {
  readonly bytes: string;
  readonly ending: (typeof ENDINGS)[number];
}

const ATTACKS: readonly Attack[] = METHODS.flatMap((method) =>
  requestsOf(method).flatMap((whole) =>
    SHARES.flatMap((share) => {
      const bytes = whole.slice(0, Math.ceil(whole.length * share));
      return ENDINGS.map((ending) => ({ bytes, ending }));
    }),
  ),
);

/** Makes one connection, and waits until nothing is left of it. */
const attack = (port: number, { bytes, ending }: Attack): Promise<void> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(bytes, () => {
        if (ending === 'reset') socket.resetAndDestroy();
        if (ending === 'half-close') socket.end();
        if (ending === 'half-close and reset') socket.end(() => socket.resetAndDestroy());
      });
    });
    socket.on('data', () => ending === 'reset at the answer' && socket.resetAndDestroy());
    // The gateway may be the first to reset.
    socket.on('error', () => {});
    socket.on('close', () => resolve());
  });

describe('a connection that breaks', () => {
  it(`at any step of any method leaves the gateway alive, ${CONNECTIONS} times`, async () => {
    const port = Number(new URL(program.url).port);
    let made = 0;
    const attackOn = async (): Promise<void> => {
      for (let next = made++; next < CONNECTIONS; next = made++) {
        const one = ATTACKS[next % ATTACKS.length];
        if (one) await attack(port, one);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, attackOn));
    expect(program.process.exitCode).toBeNull();
    expect((await fetch(`${program.url}/ready`)).status).toBe(200);
    expect(program.entries.filter(({ level }) => level !== INFO)).toEqual([]);
  });
});
