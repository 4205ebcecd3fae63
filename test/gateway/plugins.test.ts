import type { AddressInfo } from 'node:net';

import type { Plugin } from 'graphql-yoga';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { createAuthenticate } from '../../src/gateway/auth/caller.ts';
import { createFeed } from '../../src/gateway/changes/feed.ts';
import { readConfig } from '../../src/gateway/config/config.ts';
import { createGraphqlEndpoint } from '../../src/gateway/graphql/endpoint.ts';
import type { Call } from '../../src/gateway/graphql/execution/call.ts';
import { createStreams } from '../../src/gateway/graphql/streams.ts';
import { createExecutor } from '../../src/gateway/graphql/yoga.ts';
import { createApp } from '../../src/gateway/server/app.ts';
import type { Log } from '../../src/gateway/telemetry/log.ts';
import { createMetrics } from '../../src/gateway/telemetry/metrics.ts';
import { petStore } from '../../src/store/index.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { createSocketClient, openEvents, subscriptionTo } from '../support/live.ts';
import { makeCategory } from '../support/make.ts';
import { post, TIMES_UNTIL_COMPILED } from '../support/post.ts';

const ignore = (): void => {};
const LOG: Log = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  isLevelEnabled: () => false,
};

/** The hooks that have run, in order. */
let ran: string[] = [];

/** A plugin with every hook that a request can run. */
const probe: Plugin<Call> = {
  onEnveloped: () => void ran.push('enveloped'),
  onParse: () => {
    ran.push('parse');
    return ({ result }) => void ran.push(`parsed ${String(result && 'kind' in result)}`);
  },
  onValidate: () => {
    ran.push('validate');
    return ({ valid }) => void ran.push(`validated ${valid}`);
  },
  onContextBuilding: () => {
    ran.push('context');
    return () => void ran.push('context built');
  },
  onExecute: () => {
    ran.push('execute');
    return { onExecuteDone: () => void ran.push('executed') };
  },
  onSubscribe: () => {
    ran.push('subscribe');
    return {
      onSubscribeResult: () => {
        ran.push('subscribed');
        // A subscription may continue while the next test runs.
        const own = ran;
        return { onNext: () => void own.push('next') };
      },
    };
  },
};

const BEFORE = [
  'enveloped',
  'parse',
  'parsed true',
  'validate',
  'validated true',
  'context',
  'context built',
];
const OF_OPERATION = [...BEFORE, 'execute', 'executed'];
const OF_SUBSCRIPTION = [...BEFORE, 'subscribe', 'subscribed', 'next'];

/** Returns the hooks that run for a document that was executed before: it is neither parsed nor validated again. */
const again = (hooks: readonly string[]): string[] =>
  hooks.filter((hook) => !/^(?:parse|validate)/.test(hook));

const TIMES = TIMES_UNTIL_COMPILED + 1;

let gateway: Gateway;
/** The endpoint with the plugin, on the database of the gateway. */
let target: { readonly url: string; readonly close: () => Promise<unknown> };

beforeAll(async () => {
  gateway = await startGateway();
  const { db } = gateway;
  const config = readConfig();
  const metrics = createMetrics();
  const streams = createStreams(config, metrics.streams);
  const context = {
    source: { db, observeBatch: metrics.observeBatch },
    changes: createFeed(db, [...petStore.changedTypes.keys()], LOG, metrics.streams.observeChanges),
    authenticate: createAuthenticate(config.auth),
  };
  const options = { schema: petStore.schema, context, config, log: LOG, metrics, streams };
  const executor = createExecutor(options, [probe]);
  const endpoint = createGraphqlEndpoint({ ...options, executor });
  const shutdown = { hasStarted: false };
  const { app } = await createApp({
    config,
    log: LOG,
    metrics,
    shutdown,
    openApi: {},
    routes: [endpoint.routes],
  });
  await new Promise<void>((resolve) => void app.server.listen(0, '127.0.0.1', resolve));
  target = {
    url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`,
    close: async () => {
      endpoint.endStreams();
      app.server.closeAllConnections();
      await app.close();
    },
  };
});
afterAll(async () => {
  await target.close();
  await gateway.close();
});
beforeEach(() => {
  ran = [];
});

describe('the hooks of a plugin', () => {
  it.each([
    ['a query', '{ category(id: 1) { name } }'],
    ['a query that does not read the store', '{ __typename }'],
    ['a mutation', 'mutation { deletePet(id: 9) { ... on Error { code } } }'],
  ])('run for every request over HTTP, not only the first: %s', async (_what, query) => {
    for (let time = 1; time <= TIMES; time += 1) {
      ran = [];
      expect((await post(target, { query })).status).toBe(200);
      expect(ran).toEqual(time === 1 ? OF_OPERATION : again(OF_OPERATION));
    }
  });

  it('run for each subscription over Server-Sent Events, and for its first result', async () => {
    for (let time = 1; time <= 2; time += 1) {
      const payload = await subscriptionTo(gateway);
      ran = [];
      const stream = await openEvents(target, payload);
      await makeCategory(gateway, 'new');
      expect(await stream.data()).toEqual({ categoryChanged: { after: { name: 'new' } } });
      expect(ran).toEqual(time === 1 ? OF_SUBSCRIPTION : again(OF_SUBSCRIPTION));
      stream.disconnect();
    }
  });

  it('run for each query and subscription over a WebSocket', async () => {
    const client = createSocketClient(target);
    for (let time = 1; time <= TIMES; time += 1) {
      ran = [];
      const results = client.iterate({ query: '{ overSocket: __typename }' });
      expect((await results.next()).value).toEqual({ data: { overSocket: 'Query' } });
      expect(ran).toEqual(time === 1 ? OF_OPERATION : again(OF_OPERATION));
    }
    const payload = await subscriptionTo(gateway);
    ran = [];
    const results = client.iterate(payload);
    await makeCategory(gateway, 'new');
    await results.next();
    expect(ran).toEqual(again(OF_SUBSCRIPTION));
    await client.dispose();
  });
});
