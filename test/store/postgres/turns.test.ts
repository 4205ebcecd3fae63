import { request } from 'node:http';
import { text } from 'node:stream/consumers';

import { beforeAll, expect, it } from 'vitest';

import { openCopyOnPostgres } from '../../support/databases.ts';
import { gateway, useGateway } from '../../support/gateway.ts';
import { makePet } from '../../support/make.ts';
import { readMetrics, sumOf } from '../../support/metrics.ts';
import { countLockWaits, holdLock } from '../../support/postgres.ts';

const POOL_SIZE = 4;
// Callers without a token are identified by their addresses.
const MANY = '127.0.0.1';
const ONE = '127.0.0.2';

useGateway({ POOL_SIZE: String(POOL_SIZE) }, openCopyOnPostgres);
beforeAll(() => makePet(gateway));

function ask(localAddress: string, query: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const asked = request(`${gateway.url}/graphql`, { method: 'POST', localAddress, headers });
    asked.on('error', reject);
    asked.on('response', (response) => resolve(text(response)));
    asked.end(JSON.stringify({ query }));
  });
}

const countActive = async () => sumOf(await readMetrics(gateway), 'http_active_requests');

it.each([
  [
    'searches',
    POOL_SIZE / 2,
    (n: number) => `{ pets(filter: { name: "x${n}" }) { nodes { id } } }`,
  ],
  [
    'writes',
    POOL_SIZE,
    (n: number) => `mutation { updatePet(id: 1, input: { name: "x${n}" }) { __typename } }`,
  ],
])(
  'callers take turns where their %s wait, however many each caller has',
  async (_what, running, toQuery) => {
    const numbers = Array.from({ length: 100 }, (_, n) => n);
    // New documents would wait for each other first.
    for (const n of [...numbers, 99]) await ask(MANY, toQuery(n));
    const unlock = await holdLock(gateway.databaseUrl, 'lock table pets');
    const order: string[] = [];
    const send = async (address: string, n: number): Promise<void> => {
      expect(JSON.parse(await ask(address, toQuery(n)))).not.toHaveProperty('errors');
      order.push(address);
    };
    const all = numbers.map((n) => send(MANY, n));
    await expect.poll(() => countLockWaits(gateway.databaseUrl)).toBe(running);
    all.push(send(ONE, 99));
    await expect.poll(countActive).toBeGreaterThan(all.length);
    // Its request is counted by its headers. Its body has arrived, and it waits, before these later ones have ended.
    for (const n of numbers) await gateway.data(`{ later${n}: __typename }`);
    await unlock();
    await Promise.all(all);
    // What runs beside it may end first, and so may what starts then, on a busy machine even dozens.
    expect(order.indexOf(ONE)).toBeLessThan(numbers.length / 2);
  },
);
