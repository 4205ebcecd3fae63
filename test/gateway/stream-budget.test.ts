import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { gateway, startOther, useGateway, useOther } from '../support/gateway.ts';
import { countStreams, openUntilEnd as open, untilNoStreams } from '../support/live.ts';
import { makeOrder, makePet } from '../support/make.ts';
import { lastCursor } from '../support/settled.ts';
import { AUTH_BY_SECRET, bearing, mint } from '../support/tokens.ts';

useGateway();
/** Gateways that limit streams to a cost of 10,000: per caller, and per process. */
const byCaller = useOther({ ...AUTH_BY_SECRET, MAX_STREAMS_PER_CALLER: '20' });
const byProcess = useOther({ ...AUTH_BY_SECRET, AUTH_READ: 'open', MAX_STREAMS: '20' });
/** A gateway that allows four streams. */
const tiny = useOther({ ...AUTH_BY_SECRET, MAX_STREAMS: '4' });
let petId: string;
beforeAll(async () => {
  petId = await makePet(gateway, { stock: 1000 });
});

const WAIT = { timeout: 10_000, interval: 10 };
const COSTLY_FIELDS = Array.from({ length: 43 }, (_, index) => `a${index}: id`).join(' ');
const CHEAP = 'subscription { orderChanged { orderId order { pet { name } } } }';

/** A subscription whose results cost about 4,900 each. A different name prevents shared results. */
const costly = (name: string, after?: string): string =>
  `subscription { orderChanged${after ? `(after: "${after}")` : ''} { orderId cursor ${name}: kind
    order { pet { orders(first: 100) { nodes { ${COSTLY_FIELDS} } } } } } }`;

beforeEach(() => untilNoStreams(gateway, byCaller, byProcess, tiny));

/** The headers of a caller with the scope `read`. */
const caller = async (sub: string): Promise<{ headers: Record<string, string> }> => ({
  headers: bearing(await mint({ sub, scope: 'read' })),
});

const withCode = (code: string, message: RegExp): object => ({
  errors: [{ message: expect.stringMatching(message), extensions: { code } }],
});

describe('the budget for subscriptions', () => {
  it('rejects a subscription if one result could cost more than 5,000, even if MAX_COST is higher', async () => {
    const stream = await open(gateway, costly('k').replace('a0: id', 'a0: id b0: id c0: id'));
    const rejection = withCode('QUERY_TOO_COSTLY', /at most 5000 is allowed/);
    expect(await stream.rest()).toMatchObject([
      { ...rejection, extensions: { cost: { allowed: 5000 } } },
    ]);
  });

  it('charges a subscription with a cursor for a page of old changes as well', async () => {
    const stream = await open(gateway, costly('k', await lastCursor(gateway)));
    expect(await stream.rest()).toMatchObject([withCode('QUERY_TOO_COSTLY', /at most 5000/)]);
  });

  it('charges a subscription that resumes after a Last-Event-ID in the same way', async () => {
    const { headers } = await caller('eve');
    await open(byCaller, costly('a'), { headers });
    await open(byCaller, costly('b'), { headers });
    const costOf = async (own: Record<string, string>): Promise<number> => {
      const stream = await open(byCaller, costly('c'), { headers: { ...headers, ...own } });
      const [result] = await stream.rest();
      return Number(/cost (\d+)/.exec(result?.errors?.[0]?.message ?? '')?.[1]);
    };
    const resumed = await costOf({ 'Last-Event-ID': await lastCursor(gateway) });
    expect(resumed - (await costOf({}))).toBe(200);
  });

  it('rejects a subscription beyond the budget of its caller, who can subscribe later without missing a change', async () => {
    const ann = await caller('ann');
    const first = await open(byCaller, costly('a'), ann);
    const second = await open(byCaller, costly('b'), ann);
    const rejected = await open(byCaller, costly('c'), ann);
    const tooMany = withCode('TOO_MANY_STREAMS', /cost 14\d{3} .+ in total; the limit is 10000/);
    expect(await rejected.rest()).toMatchObject([tooMany]);
    // Cheap streams of the same caller and streams of other callers are still accepted.
    await open(byCaller, 'subscription { orderChanged { kind } }', ann);
    await open(byCaller, costly('a'), await caller('bob'));
    const seen = await makeOrder(gateway, petId);
    const { orderChanged } = await first.data();
    expect(orderChanged.orderId).toBe(seen);
    const missed = await makeOrder(gateway, petId);
    second.disconnect();
    await expect.poll(() => countStreams(byCaller), WAIT).toBe(3);
    const resumed = await open(
      byCaller,
      `subscription { orderChanged(after: "${orderChanged.cursor}") { orderId order { pet { orders { nodes { id } } } } } }`,
      ann,
    );
    expect((await resumed.data()).orderChanged.orderId).toBe(missed);
  });

  it.each([
    ['costs', byProcess, [costly('a'), costly('b')], costly('c')],
    ['streams', tiny, Array<string>(4).fill(CHEAP), CHEAP],
  ])(
    'ends the newest subscription of the caller with the most %s if another subscribes',
    async (_what, guarded, queries, query) => {
      const ann = await caller('ann');
      const streams = [];
      for (const own of queries) streams.push(await open(guarded, own, ann));
      const victim = await open(guarded, query, await caller('bob'));
      const ended = withCode('SERVICE_UNAVAILABLE', /Resubscribe/);
      expect(await streams.at(-1)?.rest()).toMatchObject([ended]);
      const orderId = await makeOrder(gateway, petId);
      for (const stream of [victim, ...streams.slice(0, -1)]) {
        expect((await stream.data()).orderChanged.orderId).toBe(orderId);
      }
    },
  );

  it('rejects a subscription beyond the budget of the process if no caller has more', async () => {
    for (const sub of ['ann', 'bob']) await open(byProcess, costly(sub), await caller(sub));
    const third = await open(byProcess, costly('c'), await caller('carl'));
    expect(await third.rest()).toMatchObject([withCode('SERVICE_UNAVAILABLE', /too many/)]);
    expect(byProcess.loggedErrors).toEqual([]);
  });

  it('limits callers without a token at the same address, together, to half of the budget of the process', async () => {
    await open(byProcess, costly('a'));
    const second = await open(byProcess, costly('b'));
    expect(await second.rest()).toMatchObject([withCode('TOO_MANY_STREAMS', /the limit is 5000/)]);
    const search = new URLSearchParams({ query: costly('c') });
    const other = request(`${byProcess.url}/graphql?${search}`, {
      localAddress: '127.0.0.2',
      headers: { accept: 'text/event-stream' },
    }).end();
    const [response] = (await once(other, 'response')) as [IncomingMessage];
    const [text] = (await once(response.setEncoding('utf8'), 'data')) as [string];
    expect(text).not.toContain('error');
    expect(await countStreams(byProcess)).toBe(2);
    other.destroy();
  });
});

it('the results of a caller with many costly subscriptions take turns with the results of another caller, cheap or costly', async () => {
  const COUNT = 8;
  const guarded = await startOther(AUTH_BY_SECRET);
  const [ann, bob] = [await caller('ann'), await caller('bob')];
  const order: string[] = [];
  const results: Promise<unknown>[] = [];
  const follow = async (name: string, query: string, of: typeof ann): Promise<void> => {
    const stream = await open(guarded, query, of);
    results.push(stream.data().then(() => order.push(name)));
  };
  for (let index = 0; index < COUNT; index += 1) await follow('ann', costly(`c${index}`), ann);
  await follow('bob, costly', costly('bob'), bob);
  await follow('bob, cheap', CHEAP, bob);
  await makeOrder(gateway, petId);
  await Promise.all(results);
  for (const name of ['bob, cheap', 'bob, costly']) {
    expect(order.indexOf(name)).toBeLessThan(COUNT / 2);
  }
});
