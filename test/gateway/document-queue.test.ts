import { EventEmitter, once } from 'node:events';

import type { Plugin } from 'graphql-yoga';
import { beforeAll, describe, expect, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import { type Gateway, gateway, useGateway, useOther } from '../support/gateway.ts';
import { hashOf } from '../support/manifest.ts';
import { post } from '../support/post.ts';
import { repeat } from '../support/repeat.ts';
import { AUTH_BY_SECRET, bearing, mint, withScopes } from '../support/tokens.ts';

useGateway({ ...AUTH_BY_SECRET, DOCUMENTS: 'automatic' });
/** Reading needs no token. */
const readable = useOther({ ...AUTH_BY_SECRET, AUTH_READ: 'open' });
/** A gateway that responds within 100 ms, even if a document has to wait. */
const hasty = useOther({ RESPONSE_TIMEOUT_MS: '100' });
/** A gateway whose store's plugin notes each document that is parsed. */
const parsed: string[] = [];
const noteParsed: Plugin = { onParse: ({ params }) => void parsed.push(String(params.source)) };
const counting = useOther(AUTH_BY_SECRET, {}, { ...petStore, plugins: [noteParsed] });
const countParsed = (text: string): number => parsed.filter((one) => one === text).length;
const tokenOf = async (sub: string) => bearing(await mint({ sub, scope: 'read' }));
let ann: Record<string, string>;
let bob: Record<string, string>;
beforeAll(async () => {
  [ann, bob] = [await tokenOf('ann'), await tokenOf('bob')];
});

let last = 0;
/** Returns a new document that is long enough to be queued as a long one. */
const renew = (query: string): string => `${query} #${(last += 1)}`.padEnd(1100);
/** Returns a new document that takes a few milliseconds to check and is then rejected for its cost. */
const renewSlow = (): string =>
  renew(
    `{ pet(id: 1) { ...F0 } } ${repeat(24, (n) => `fragment F${n} on Pet { id name category { name } ${repeat(23 - n, (m) => `...F${n + 1 + m}`)} }`)}`,
  );

const MANY = 20;

/**
 * Sends many new documents that are slow to check. When the first response arrives, resolves to the running count of
 * responses, and a promise of all responses.
 */
async function flood(to: Gateway, headers: Record<string, string> = {}) {
  const state = { responses: 0 };
  const sent = Array.from({ length: MANY }, async () => {
    const response = await post(to, { query: renewSlow() }, { headers });
    state.responses += 1;
    return response;
  });
  await Promise.race(sent);
  return { state, all: Promise.all(sent) };
}

/** Sends an operation and returns the status of its response. */
const ask = async (params: object, headers: Record<string, string> = {}, to = gateway) =>
  (await post(to, params, { headers })).status;

/** Expects a document to get its response before the last document of an earlier flood. */
async function expectOvertaking(
  to: Gateway,
  query: string,
  headers: Record<string, string>,
  { state, all }: Awaited<ReturnType<typeof flood>>,
): Promise<void> {
  const response = await post(to, { query }, { headers });
  expect(response.status).toBe(200);
  expect(state.responses).toBeLessThan(MANY);
  await all;
}

describe('a new document', () => {
  it('overtakes documents from callers without a token if its own caller has a token', async () => {
    await expectOvertaking(readable, renew('{ __typename }'), ann, await flood(readable));
  });

  it('overtakes documents from another caller', async () => {
    await expectOvertaking(gateway, renew('{ __typename }'), bob, await flood(gateway, ann));
  });

  it('overtakes longer documents from the same caller', async () => {
    await expectOvertaking(gateway, '{ short: __typename }', ann, await flood(gateway, ann));
  });

  it('gets its turn while three other callers send more of them than may wait', async () => {
    const ending = new AbortController();
    const { signal } = ending;
    const attackers = await Promise.all(['eve', 'mallory', 'trudy'].map(tokenOf));
    const cached = '{ cached: __typename }';
    await ask({ query: cached }, ann);
    const queue = new EventEmitter();
    const full = once(queue, 'full');
    const attack = async (headers: Record<string, string>): Promise<void> => {
      const { status } = await post(gateway, { query: renewSlow() }, { headers, signal });
      if (status === 503) queue.emit('full');
    };
    const attacks = attackers.flatMap((attacker) =>
      Array.from({ length: 250 }, () => attack(attacker)),
    );
    const ended = Promise.allSettled(attacks);
    await full;
    const asked = ask({ query: renew('{ __typename }') }, ann);
    await ask({ query: cached }, ann);
    // Documents whose clients have left still wait, but take no time.
    ending.abort();
    expect(await asked).toBe(200);
    await ended;
  });

  it('is rejected with status 503 and Retry-After if it waits too long', async () => {
    const ending = new AbortController();
    const flooding = Array.from({ length: MANY }, async () => {
      while (!ending.signal.aborted) await (await post(hasty, { query: renewSlow() })).text();
    });
    await expect
      .poll(async () => {
        const { status, headers } = await post(hasty, { query: renewSlow() });
        return [status, headers.get('retry-after')];
      })
      .toEqual([503, '1']);
    ending.abort();
    await Promise.all(flooding);
  });
});

it('a new document that many callers send is accepted as a known document by all callers but the first, however long they wait', async () => {
  const query = renew('{ sentByMany: __typename }');
  const names = Array.from({ length: 20 }, (_, n) => `caller ${n}`);
  const callers = await Promise.all(names.map(tokenOf));
  const { all } = await flood(counting, ann);
  const statuses = await Promise.all(callers.map((headers) => ask({ query }, headers, counting)));
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(countParsed(query)).toBe(1);
  await all;
});

describe('a cached document', () => {
  const long = renew('{ __typename }');

  it('is executed while new documents from the same caller wait', async () => {
    await post(gateway, { query: long }, { headers: ann });
    await expectOvertaking(gateway, long, ann, await flood(gateway, ann));
  });

  it('is not evicted by documents from callers without a token if its own caller has a token', async () => {
    const query = '{ kept: __typename }';
    await ask({ query }, ann, counting);
    await ask({ query }, {}, counting);
    // Each counts as more than 10 MB, and the gateway keeps 50 MB.
    for (let count = 1; count <= 5; count += 1) {
      const large = renew(repeat(500, (index) => `query Q${index} { __typename }`));
      expect(await ask({ query: large, operationName: 'Q0' }, {}, counting)).toBe(200);
    }
    await ask({ query }, ann, counting);
    expect(countParsed(query)).toBe(2);
    await ask({ query }, {}, counting);
    expect(countParsed(query)).toBe(3);
  });

  it('cannot be executed by its hash with a token if it has only been sent without a token', async () => {
    const query = '{ byHash: __typename }';
    const hash = { extensions: { persistedQuery: { version: 1, sha256Hash: hashOf(query) } } };
    expect(await ask({ query, ...hash })).toBe(200);
    expect(await ask(hash)).toBe(200);
    expect(await ask(hash, ann)).toBe(404);
    expect(await ask({ query, ...hash }, ann)).toBe(200);
    expect(await ask(hash, ann)).toBe(200);
  });
});

it('a document that its caller is not allowed to execute is rejected with status 401 or 403 before it is validated', async () => {
  const query = '{ pet(id: 1) { nothing } }';
  expect(await ask({ query })).toBe(401);
  expect(await ask({ query }, await withScopes('metrics'))).toBe(403);
});
