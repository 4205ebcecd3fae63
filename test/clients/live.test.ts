import { afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';

import { collect } from '../../docs/examples/lists.ts';
import {
  LAST_CURSOR,
  openEventStreams,
  openWebSockets,
  resume,
  type Subscribe,
  withIds,
} from '../../docs/examples/live.ts';
import { type Data, gateway, run, startOther, useGateway } from '../support/gateway.ts';
import { makeCategory, makeOrder, makePet, mutate } from '../support/make.ts';
import { hashOf, toManifest, withManifest } from '../support/manifest.ts';
import { post } from '../support/post.ts';
import { type Proxy, startTcpProxy } from '../support/proxies.ts';
import { AUTH_BY_SECRET, bearing, mint } from '../support/tokens.ts';
import { LIVE, type LiveClient, PAUSE_MS } from './clients.ts';
import { PET_CHANGED, type PetChange } from './operations.ts';

const TRANSPORTS = {
  'Server-Sent Events': openEventStreams,
  WebSocket: (url, readHeaders) =>
    openWebSockets(url.replace('http', 'ws'), readHeaders, { webSocketImpl: WebSocket }),
} satisfies Record<string, typeof openEventStreams>;

const WAIT = { timeout: 10_000, interval: 5 };
// How many bytes the proxy sends before it cuts a connection: about twelve changes. The changes that a client has missed
// arrive together, and graphql-sse 2.6.1 delivers none of a chunk that ends within a message, so they must be fewer.
const LIMIT = 4000;

useGateway();

async function use(starting: Promise<Proxy>): Promise<Proxy> {
  const proxy = await starting;
  onTestFinished(() => proxy.close());
  return proxy;
}

/**
 * Changes a pet through a gateway, which notifies its own subscribers immediately. Subscribers of other gateways are
 * notified within about a second.
 */
async function rename(id: string, name: string, at = gateway, headers = {}): Promise<void> {
  const query = `mutation ($id: ID!, $name: String!) {
    updatePet(id: $id, input: { name: $name }) { __typename }
  }`;
  const response = await post(at, { query, variables: { id, name } }, { headers });
  expect(await response.json()).toEqual({ data: { updatePet: { __typename: 'Pet' } } });
}

/** Changes a pet several times. */
async function renameOften(id: string, times: number): Promise<void> {
  for (let count = 1; count <= times; count += 1) await rename(id, `name ${count}`);
}

/** Reads the cursors of all changes to pets in the change log. */
async function readRecord(): Promise<{ cursor: string; petId: string }[]> {
  const all: { cursor: string; petId: string }[] = [];
  let after: string | null = null;
  for (;;) {
    const { changes } = await gateway.data(
      `query ($after: String) {
        changes(first: 100, after: $after, filter: { types: [PET] }) {
          nodes { ... on PetChange { cursor petId } }
          pageInfo { hasNextPage endCursor }
        }
      }`,
      { after },
    );
    all.push(...changes.nodes);
    if (!changes.pageInfo.hasNextPage) return all;
    after = changes.pageInfo.endCursor;
  }
}

/** Deletes all changes except the last, as if they were too old. */
const forgetChanges = (): Promise<unknown> =>
  run(`delete from changes where (transaction, id) < (
    select transaction, id from changes order by transaction desc, id desc limit 1)`);

const noHeaders = async (): Promise<Record<string, string>> => ({});

/** Returns data without what clients add to it. */
const bare = (data: Data): Data =>
  JSON.parse(
    JSON.stringify(data ?? null, (name, value) =>
      ['__typename', 'nodeId'].includes(name) ? undefined : value,
    ),
  );

describe.each(LIVE)('subscriptions of %s', (_client, prepare) => {
  let create: Awaited<ReturnType<typeof prepare>>;
  beforeAll(async () => {
    create = await prepare(gateway);
  });

  describe.each(Object.entries(TRANSPORTS))('over %s', (_transport, open) => {
    const changes: PetChange[] = [];
    const errors: unknown[] = [];
    let reads = 0;
    afterEach(() => {
      changes.length = 0;
      errors.length = 0;
      reads = 0;
    });

    /** Creates a client that reads from one gateway and subscribes at another gateway, or at a proxy. */
    const connect = (
      { url }: { url: string },
      readHeaders: () => Promise<Record<string, string>> = noHeaders,
    ): LiveClient => create({ subscribe: resume(open(`${url}/graphql`, readHeaders), PAUSE_MS) });

    const follow = async (client: LiveClient, ...ids: string[]): Promise<void> => {
      const stop = await client.follow(ids, {
        readRows: async () => void (reads += 1),
        onChange: ({ petChanged }) => changes.push(petChanged),
        onError: (error) => errors.push(error),
      });
      onTestFinished(stop);
    };

    const received = (count: number): Promise<unknown> =>
      vi.waitUntil(() => errors.length > 0 || changes.length >= count, WAIT);

    /** Expects each change to these pets after the first `after` changes to be received once and in order. */
    const expectRecorded = async (after: number, ...ids: string[]): Promise<void> => {
      const record = (await readRecord()).slice(after).filter(({ petId }) => ids.includes(petId));
      expect(changes.map(({ cursor }) => cursor)).toEqual(record.map(({ cursor }) => cursor));
      expect(errors).toEqual([]);
    };

    it('receive each change once and in order, through a proxy that cuts connections', async () => {
      const one = await makePet(gateway);
      const other = await makePet(gateway);
      const third = await makePet(gateway);
      const { length } = await readRecord();
      const proxy = await use(startTcpProxy([gateway.url], LIMIT));
      await follow(connect(proxy), one, other);
      for (let round = 1; round <= 6; round += 1) {
        await Promise.all([renameOften(one, 5), renameOften(other, 5), renameOften(third, 1)]);
        await received(10 * round);
      }
      await expectRecorded(length, one, other);
      expect(proxy.cuts).toBeGreaterThanOrEqual(3);
      expect(reads).toBe(1);
    });

    it('continue with a new token when a token expires', async () => {
      const id = await makePet(gateway);
      const { length } = await readRecord();
      const secured = await startOther(AUTH_BY_SECRET);
      const lives = [1];
      const tokens: string[] = [];
      const readHeaders = async (): Promise<Record<string, string>> => {
        const token = await mint({ scope: 'read', exp: lives.shift() ?? 60 });
        tokens.push(token);
        return bearing(token);
      };
      await follow(connect(secured, readHeaders), id);
      await vi.waitUntil(() => tokens.length > 1, WAIT);
      const headers = bearing(await mint({ scope: 'pets:write' }));
      for (const name of ['One', 'Two', 'Three']) await rename(id, name, secured, headers);
      await received(3);
      await expectRecorded(length, id);
    });

    it('report an error after a few attempts if every token is rejected', async () => {
      const id = await makePet(gateway);
      const secured = await startOther(AUTH_BY_SECRET);
      let requests = 0;
      const readHeaders = async (): Promise<Record<string, string>> => {
        requests += 1;
        return bearing('not a token');
      };
      await follow(connect(secured, readHeaders), id);
      await vi.waitUntil(() => errors.length > 0, WAIT);
      expect(JSON.stringify(errors)).toContain('UNAUTHENTICATED');
      expect(requests).toBeLessThan(7);
    });

    it('reload the data if changes after their cursor have been deleted', async () => {
      const id = await makePet(gateway);
      const proxy = await use(startTcpProxy([gateway.url]));
      await follow(connect(proxy), id);
      await rename(id, 'One');
      await received(1);
      proxy.targets = [];
      proxy.cutAll();
      await renameOften(id, 3);
      await forgetChanges();
      expect(reads).toBe(1);
      proxy.targets = [gateway.url];
      await vi.waitUntil(() => reads === 2, WAIT);
      await rename(id, 'Two');
      await received(2);
      expect(changes.map(({ pet }) => pet?.name)).toEqual(['One', 'Two']);
      expect(errors).toEqual([]);
    });

    it('continue on another gateway when their gateway shuts down', async () => {
      const id = await makePet(gateway);
      const { length } = await readRecord();
      const leaving = await startOther({ STOP_DELAY_MS: '0' });
      const proxy = await use(startTcpProxy([leaving.url, gateway.url]));
      await follow(connect(proxy), id);
      await rename(id, 'One', leaving);
      await received(1);
      await Promise.all([leaving.stop(), renameOften(id, 20)]);
      await received(21);
      await expectRecorded(length, id);
      expect(reads).toBe(1);
    });

    it('update the cache when an object is changed or deleted', async () => {
      const id = await makePet(gateway, { name: 'Ada' });
      const client = connect(gateway);
      expect(await client.nameOf(id)).toBe('Ada');
      await follow(client, id);
      await rename(id, 'Zoe');
      await received(1);
      expect(await client.nameOf(id)).toBe('Zoe');
      await gateway.data(`mutation { deletePet(id: "${id}") { __typename } }`);
      await received(2);
      expect(await client.nameOf(id)).toBeUndefined();
    });

    it('show current groups after a change if the app reloads them', async () => {
      const categoryId = await makeCategory(gateway);
      const id = await makePet(gateway, { categoryId, stock: 5 });
      await makeOrder(gateway, id, { shipDate: '2100-01-01T00:00:00Z' });
      const client = connect(gateway);
      const { query, read, reload } = await client.showGroups({ categoryId });
      const expectCurrent = async (): Promise<void> => {
        const current = await gateway.data(query, { categoryId });
        await expect.poll(async () => bare(await read())).toEqual(bare(current));
      };
      await expectCurrent();
      const stop = await client.follow([id], {
        readRows: async () => {},
        onChange: collect(reload),
        onError: (error) => errors.push(error),
      });
      onTestFinished(stop);
      await mutate(gateway, 'updatePet', { id, input: { status: 'SOLD' } });
      await expectCurrent();
    });
  });
});

/**
 * Follows a pet from the end of the change log. Once that position is known, returns an array, to which each result
 * that arrives is added.
 */
async function followPet(send: Subscribe, id: string): Promise<unknown[]> {
  const results: unknown[] = [];
  const next = (result: unknown): unknown => results.push(result);
  const request = { query: PET_CHANGED, variables: { ids: [id] } };
  await new Promise<void>((resolve) => {
    const subscribe: Subscribe = (sent, sink) => {
      if (sent.variables?.['after']) resolve();
      return send(sent, sink);
    };
    onTestFinished(resume(subscribe, PAUSE_MS)(request, { next, error: next, complete: () => {} }));
  });
  return results;
}

describe.each(Object.entries(TRANSPORTS))(
  'a subscription without a cursor over %s',
  (_name, open) => {
    it('misses no change if its connection is cut before the first change', async () => {
      const id = await makePet(gateway);
      const proxy = await use(startTcpProxy([gateway.url]));
      const send = open(`${proxy.url}/graphql`, noHeaders);
      const results = await followPet(send, id);
      proxy.targets = [];
      proxy.cutAll();
      await rename(id, 'Zoe');
      proxy.targets = [gateway.url];
      await vi.waitUntil(() => results.length > 0, WAIT);
      expect(results).toMatchObject([{ data: { petChanged: { pet: { name: 'Zoe' } } } }]);
    });

    it('works with trusted documents', async () => {
      const id = await makePet(gateway);
      const manifest = toManifest(LAST_CURSOR, PET_CHANGED);
      const trusted = await withManifest(manifest, (DOCUMENTS_MANIFEST) =>
        startOther({ DOCUMENTS: 'trusted', DOCUMENTS_MANIFEST }),
      );
      const send = withIds(open(`${trusted.url}/graphql`, noHeaders), hashOf);
      const results = await followPet(send, id);
      await rename(id, 'Zoe');
      await vi.waitUntil(() => results.length > 0, WAIT);
      expect(results).toMatchObject([{ data: { petChanged: { pet: { name: 'Zoe' } } } }]);
    });
  },
);
