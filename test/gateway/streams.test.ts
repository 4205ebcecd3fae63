import { once } from 'node:events';
import { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

import { MapperKind, mapSchema } from '@graphql-tools/utils';
import { raw } from 'sql-template-tag';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import { connectTo } from '../support/callers.ts';
import { type Gateway, gateway, startOther, useGateway, useOther } from '../support/gateway.ts';
import {
  countStreams,
  type LiveResult,
  openUntilEnd as open,
  resultsBySocket,
  untilNoStreams,
} from '../support/live.ts';
import { makeCategory } from '../support/make.ts';
import { readMetrics, sumOf } from '../support/metrics.ts';
import { post } from '../support/post.ts';
import { requestRaw } from '../support/raw.ts';
import { repeat } from '../support/repeat.ts';
import { lastCursor } from '../support/settled.ts';
import { AUTH_BY_SECRET, bearing, mint, withScopes } from '../support/tokens.ts';

useGateway();
const guarded = useOther({ ...AUTH_BY_SECRET, MAX_STREAMS_PER_CALLER: '1' });
const small = useOther({ MAX_STREAMS: '1', MAX_RESPONSE_BYTES: '10000' });

/** Whether this is the last event of a response. */
const isLast = (chunk: unknown): boolean => String(chunk).startsWith('event: complete');

/** A gateway with a resolver that counts how often it runs, and may fail. */
let computed = 0;
let fails = false;
const resolve = ({ name }: { name: string }): string => {
  computed += 1;
  if (fails) throw new Error('planned');
  return name;
};
const schema = mapSchema(petStore.schema, {
  [MapperKind.OBJECT_FIELD]: (field, name, type) =>
    type === 'Category' && name === 'name' ? { ...field, resolve } : field,
});
const counted = useOther({}, {}, { ...petStore, schema });

const NAMES = 'subscription Names { categoryChanged { after { name } } }';
const WAIT = { timeout: 10_000, interval: 10 };

beforeEach(() => untilNoStreams(gateway, guarded, small, counted));

const withCode = (code: string): object => ({ errors: [{ extensions: { code } }] });
const INVALID_CURSOR = withCode('INVALID_CURSOR');
const GONE = { __typename: 'PetNotFound' };
const named = (name: string): object => ({ categoryChanged: { after: { name } } });

const countSlow = async () =>
  sumOf(await readMetrics(gateway), 'streams_total', { code: 'SLOW_SUBSCRIBER' });

describe('Server-Sent Events', () => {
  it.each(['POST', 'GET'] as const)(
    'deliver each change if the subscription was sent with %s',
    async (method) => {
      const stream = await open(gateway, NAMES, { method });
      const { status, headers } = stream.response;
      expect(status).toBe(200);
      expect(Object.fromEntries(headers)).toMatchObject({
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': expect.stringContaining('no-cache'),
        'x-accel-buffering': 'no',
        'x-request-id': expect.any(String),
      });
      expect(headers.has('content-encoding')).toBe(false);
      for (const name of ['one', 'two']) {
        await makeCategory(gateway, name);
        expect(await stream.data()).toEqual(named(name));
      }
    },
  );

  it("resume after the Last-Event-ID that a browser's EventSource sends, instead of after the cursor in its URL", async () => {
    const variables = { after: await lastCursor(gateway) };
    const query =
      'subscription ($after: String) { categoryChanged(after: $after) { after { name } } }';
    const seen: unknown[] = [];
    const made: string[] = [];
    let headers = {};
    for (let round = 0; round < 20; round += 1) {
      const stream = await open(gateway, { query, variables }, { method: 'GET', headers });
      // Each connection breaks after one of the two changes that are made while it is open.
      for (const name of [`${round} a`, `${round} b`]) {
        await makeCategory(gateway, name);
        made.push(name);
      }
      await stream.event();
      const { id = '', data = '' } = (await stream.event()) ?? {};
      seen.push(JSON.parse(data));
      headers = { 'Last-Event-ID': id };
      stream.disconnect();
    }
    const rest = await open(gateway, { query, variables }, { method: 'GET', headers });
    while (seen.length < made.length) seen.push(await rest.result());
    expect(seen).toEqual(made.map((name) => ({ data: named(name) })));
  });

  it('ignore an empty Last-Event-ID, and reject one that is not a cursor', async () => {
    const stream = await open(gateway, NAMES, { headers: { 'Last-Event-ID': '' } });
    await makeCategory(gateway, 'next');
    expect(await stream.data()).toEqual(named('next'));
    const other = await open(gateway, NAMES, { headers: { 'Last-Event-ID': 'x' } });
    const results = await other.rest();
    expect(results).toMatchObject([INVALID_CURSOR]);
    expect(JSON.stringify(results)).toContain('"Last-Event-ID: is not the cursor of a change."');
  });

  it.each<[what: string, code: string, body: string, headers: Record<string, string>]>([
    ['a token that is not valid', 'UNAUTHENTICATED', '{}', { Authorization: 'Bearer x' }],
    ['a body that is not JSON', 'BAD_REQUEST', '{', {}],
  ])('report an error before the execution as a result: %s', async (_what, code, body, headers) => {
    const accepting = { accept: 'text/event-stream', ...headers };
    const response = await post(guarded, body, { headers: accepting });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(await response.text()).toMatch(
      new RegExp(`^event: next\ndata: .*"code":"${code}".*\n\nevent: complete\ndata:\n\n$`),
    );
  });

  it('start with a comment, and repeat it while nothing changes', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] });
    const stream = await open(gateway, NAMES);
    vi.advanceTimersByTime(30_000);
    vi.useRealTimers();
    for (let count = 0; count < 3; count += 1)
      expect(await stream.event()).toEqual({ comment: '' });
  });

  it('end as a whole although a comment is due before the client has read the last event', async () => {
    const send: typeof ServerResponse.prototype.write = Reflect.get(
      ServerResponse.prototype,
      'write',
    );
    const write = vi.spyOn(ServerResponse.prototype, 'write').mockImplementation(function (
      this: ServerResponse,
      ...args
    ) {
      return Reflect.apply(send, this, args) && !isLast(args[0]);
    });
    onTestFinished(() => {
      write.mockRestore();
    });
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const headers = bearing(await mint({ scope: 'read', exp: -3 }));
    const results = byEvents(guarded, NAMES, headers);
    await vi.waitUntil(() => write.mock.calls.some(([chunk]) => isLast(chunk)), WAIT);
    vi.advanceTimersByTime(30_000);
    vi.useRealTimers();
    const response = write.mock.contexts.at(-1);
    if (response instanceof ServerResponse) response.emit('drain');
    expect(await results).toMatchObject([withCode('UNAUTHENTICATED')]);
  });

  it('are sent only if Accept names them, and not in response to HEAD', async () => {
    const response = await post(gateway, { query: NAMES }, { headers: { accept: '*/*' } });
    expect(response.status).toBe(406);
    expect(await response.json()).toMatchObject(withCode('NOT_ACCEPTABLE'));
    const path = `/graphql?query=${encodeURIComponent(NAMES)}`;
    const head = await requestRaw(gateway, 'HEAD', path, { Accept: 'text/event-stream' });
    expect(head).toMatchObject({ status: 406, body: '' });
    expect(await countStreams(gateway)).toBe(0);
  });
});

type Headers = Record<string, string>;

/** Returns all results of an operation. */
type ResultsOf = (to: Gateway, query: string, headers?: Headers) => Promise<LiveResult[]>;

const byEvents: ResultsOf = async (to, query, headers = {}) =>
  (await open(to, query, { headers })).rest();

const bySocket: ResultsOf = (to, query, headers) => resultsBySocket(to, { query }, headers);

describe.each([
  ['Server-Sent Events', byEvents],
  ['a WebSocket', bySocket],
])('over %s', (_transport, resultsOf) => {
  it.each([
    ['a query', '{ __typename }', { data: { __typename: 'Query' } }],
    ['a mutation', 'mutation { a: deletePet(id: 9) { __typename } }', { data: { a: GONE } }],
    ['an invalid subscription', 'subscription { no }', withCode('GRAPHQL_VALIDATION_FAILED')],
    ['an invalid cursor', 'subscription { petChanged(after: "x") { kind } }', INVALID_CURSOR],
  ])('there is one result for %s', async (_what, operation, result) => {
    expect(await resultsOf(gateway, operation)).toMatchObject([result]);
  });

  it('a subscription ends with SERVICE_UNAVAILABLE on shutdown', async () => {
    const stopping = await startOther({ STOP_DELAY_MS: '0' });
    const results = resultsOf(stopping, NAMES);
    await expect.poll(() => countStreams(stopping), WAIT).toBe(1);
    await stopping.stop();
    const message = expect.stringContaining('Resubscribe with your last cursor');
    const extensions = { code: 'SERVICE_UNAVAILABLE', status: 503 };
    expect(await results).toMatchObject([{ errors: [{ message, extensions }] }]);
  });

  it('a subscription requires the read scope', async () => {
    const results = await resultsOf(guarded, NAMES, await withScopes('pets:write'));
    expect(results).toMatchObject([withCode('FORBIDDEN')]);
  });

  // Tokens are accepted for five seconds after they expire, because clocks differ.
  it("a subscription ends with UNAUTHENTICATED when its caller's token expires", async () => {
    const headers = bearing(await mint({ scope: 'read', exp: -3 }));
    const start = performance.now();
    const results = await resultsOf(guarded, NAMES, headers);
    // Not when the token expired, which was in the past. `exp` is rounded down to seconds.
    expect(performance.now() - start).toBeGreaterThan(900);
    expect(results.at(-1)).toMatchObject({
      errors: [{ message: 'The token has expired.', extensions: { code: 'UNAUTHENTICATED' } }],
    });
    await expect.poll(() => countStreams(guarded), WAIT).toBe(0);
  });
});

describe('a new subscription', () => {
  it('is rejected without a token if a token is required', async () => {
    expect(await byEvents(guarded, NAMES)).toMatchObject([withCode('UNAUTHENTICATED')]);
  });

  it('is rejected beyond MAX_STREAMS_PER_CALLER, until the caller closes another subscription', async () => {
    const headers = bearing(await mint({ sub: 'ann', scope: 'read' }));
    const first = await open(guarded, NAMES, { headers });
    const second = await open(guarded, NAMES, { headers });
    expect(await second.rest()).toMatchObject([withCode('TOO_MANY_STREAMS')]);
    await open(guarded, NAMES, { headers: bearing(await mint({ sub: 'bob', scope: 'read' })) });
    expect(await countStreams(guarded)).toBe(2);
    first.disconnect();
    await expect.poll(() => countStreams(guarded), WAIT).toBe(1);
    await open(guarded, NAMES, { headers });
    expect(await countStreams(guarded)).toBe(2);
  });

  it('is rejected beyond MAX_STREAMS, until another subscription closes', async () => {
    const first = await open(small, NAMES);
    const second = await open(small, NAMES);
    expect(await second.rest()).toMatchObject([withCode('SERVICE_UNAVAILABLE')]);
    expect(small.loggedErrors).toEqual([]);
    first.disconnect();
    await expect.poll(() => countStreams(small), WAIT).toBe(0);
    await open(small, NAMES);
    expect(await countStreams(small)).toBe(1);
  });

  it('is rejected if one of its results could be too large', async () => {
    const fields = repeat(9, (index) => `a${index}: description`);
    const large = `subscription { categoryChanged { after { ${fields} } } }`;
    expect(await (await open(small, large)).rest()).toMatchObject([withCode('RESPONSE_TOO_LARGE')]);
  });
});

describe('the result of a change', () => {
  it('is computed once for each operation, however many streams have it', async () => {
    const queries = Array.from({ length: 20 }, (_, index) => NAMES.replace('Names', `N${index}`));
    const streams = await Promise.all(
      [...queries, ...queries].map((query) => open(counted, query)),
    );
    computed = 0;
    await makeCategory(counted, 'shared');
    for (const stream of streams) expect(await stream.data()).toEqual(named('shared'));
    expect(computed).toBe(queries.length);
  });

  it('is not shared between streams with different variables', async () => {
    const query = `subscription ($v: Boolean!) { categoryChanged { after { name @include(if: $v) } } }`;
    const streams = await Promise.all(
      [true, false, true].map((v) => open(gateway, { query, variables: { v } })),
    );
    await makeCategory(gateway, 'own');
    const results = await Promise.all(streams.map((stream) => stream.data()));
    expect(results).toEqual([named('own'), { categoryChanged: { after: {} } }, named('own')]);
  });

  it('is computed again for later streams if it has an error', async () => {
    const after = await lastCursor(counted);
    const query = NAMES.replace('categoryChanged', `categoryChanged(after: "${after}")`);
    fails = true;
    await makeCategory(gateway, 'again');
    expect(await (await open(counted, query)).result()).toMatchObject(
      withCode('INTERNAL_SERVER_ERROR'),
    );
    fails = false;
    expect(await (await open(counted, query)).data()).toEqual(named('again'));
    counted.loggedErrors.length = 0;
  });
});

describe('an open stream', () => {
  it('is closed with SLOW_SUBSCRIBER if its client stops reading, and other streams stay open', async () => {
    const fields = repeat(10, (index) => `a${index}: description`);
    const query = `subscription { categoryChanged { after { id ${fields} } } }`;
    const search = new URLSearchParams({ query });
    const socket = connectTo(gateway);
    const request = `GET /graphql?${search} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nConnection: close\r\n\r\n`;
    socket.write(request);
    socket.pause();
    // This client never reads the error.
    const gone = connectTo(gateway);
    gone.write(request);
    gone.pause();
    await expect.poll(() => countStreams(gateway), WAIT).toBe(2);
    const other = await open(gateway, 'subscription { categoryChanged { after { name } } }');
    const WRITES = 1700;
    await gateway.db.write(
      raw(`insert into categories (name, description)
      select 'slow ' || number, repeat('x', 2000) from generate_series(1, ${WRITES}) as number`),
    );
    // A concurrent reader receives all changes.
    for (let number = 1; number <= WRITES; number += 1) {
      expect(await other.data()).toEqual(named(`slow ${number}`));
    }
    // Longer than a client may stop reading (3 seconds) and the poll interval (1 second) together.
    await sleep(4200);
    const received = await text(socket);
    const events = received.match(/^event: next$/gm) ?? [];
    expect(events.length).toBeGreaterThan(1);
    expect(events.length).toBeLessThan(WRITES);
    expect(received.slice(-1000)).toMatch(/"code":"SLOW_SUBSCRIBER".*event: complete\n/s);
    expect(await countSlow()).toBe(1);
    gone.destroy();
    await expect.poll(countSlow, WAIT).toBe(2);
  });

  it('is closed if its client disconnected right after sending the request', async () => {
    const search = new URLSearchParams({ query: NAMES });
    const lines = 'HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n';
    const get = `GET /graphql?${search} ${lines}\r\n`;
    const body = JSON.stringify({ query: NAMES });
    const posted = `POST /graphql ${lines}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    for (const requests of [get, posted, get.repeat(20), posted.repeat(20)]) {
      const sockets = Array.from({ length: 10 }, () => {
        const socket = connectTo(gateway);
        socket.on('error', () => {}).write(requests, () => socket.resetAndDestroy());
        return once(socket, 'close');
      });
      await Promise.all(sockets);
    }
    // Every stream that the gateway has started is closed, which is no error in the log.
    expect(await gateway.data('{ __typename }')).toEqual({ __typename: 'Query' });
    await expect.poll(() => countStreams(gateway), WAIT).toBe(0);
    expect(gateway.loggedErrors).toEqual([]);
  });
});
