import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openPostgres } from '../../../src/database/postgres.ts';
import { copyOnPostgres } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';

/** Holds back what is sent to PostgreSQL from a text on, once. */
interface Proxy {
  readonly port: number;
  /** Returns the function that sends what was held back. */
  readonly hold: (text: string) => () => void;
  readonly close: () => void;
}

const ignore = (): void => {};

async function startProxy(port: number): Promise<Proxy> {
  let text: string | undefined;
  let send = ignore;
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    client.on('data', (chunk) => {
      if (text === undefined || !chunk.includes(text)) {
        upstream.write(chunk);
        return;
      }
      text = undefined;
      client.pause();
      send = () => {
        upstream.write(chunk);
        client.resume();
      };
    });
    client.on('close', () => upstream.end()).on('error', ignore);
    upstream.pipe(client);
    upstream.on('error', ignore);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    hold: (held) => {
      text = held;
      return () => send();
    },
    close: () => server.close(),
  };
}

let gateway: Gateway;
let proxy: Proxy;
let database: Awaited<ReturnType<typeof copyOnPostgres>>;
beforeAll(async () => {
  database = await copyOnPostgres();
  const url = new URL(database.url);
  proxy = await startProxy(Number(url.port));
  url.port = String(proxy.port);
  gateway = await startGateway({ POOL_SIZE: '1', STATEMENT_TIMEOUT_MS: '100' }, (config, log) =>
    openPostgres(url.href, config, log),
  );
});
afterAll(async () => {
  await gateway.close();
  proxy.close();
  await database.drop();
});

const CREATE = `mutation ($key: String) {
  createCategory(input: { name: "Newts" }, idempotencyKey: $key) { ... on Category { id } } }`;

describe('a transaction whose statement gets no response in time', () => {
  it.each(['BEGIN', 'insert into idempotency_keys', 'insert into categories', 'COMMIT'])(
    'does not take the next write with it: %s',
    async (statement) => {
      const send = proxy.hold(statement);
      const failed = await gateway.graphql(CREATE, { key: statement });
      expect(failed.errors?.[0]?.extensions.code).toBe('SERVICE_UNAVAILABLE');
      expect(gateway.loggedErrors.splice(0)).toHaveLength(1);
      send();
      const { createCategory } = await gateway.data(CREATE);
      const query = `{ category(id: "${createCategory.id}") { id } }`;
      expect(await gateway.data(query)).toEqual({ category: createCategory });
    },
  );

  it('does not take the next write with it: ROLLBACK', async () => {
    const send = proxy.hold('ROLLBACK');
    const order = `mutation { placeOrder(input: { petId: "1", quantity: 1 }, idempotencyKey: "none") {
      ... on Error { code } } }`;
    expect(await gateway.data(order)).toEqual({ placeOrder: { code: 'PET_NOT_FOUND' } });
    send();
    const { createCategory } = await gateway.data(CREATE);
    const query = `{ category(id: "${createCategory.id}") { id } }`;
    expect(await gateway.data(query)).toEqual({ category: createCategory });
  });
});

// The statement timeout, and the second for which the gateway waits in addition.
const LIMIT_MS = 1100;

it('a statement without a response is given up, also if its connection was idle for as long', async () => {
  await gateway.data('{ categories { nodes { id } } }');
  await sleep(LIMIT_MS + 100);
  const send = proxy.hold('orders');
  const { errors } = await gateway.graphql('{ orders { nodes { id } } }');
  expect(errors?.[0]?.extensions.code).toBe('SERVICE_UNAVAILABLE');
  expect(gateway.loggedErrors.splice(0)).toMatchObject([
    { err: { message: 'Connection terminated: PostgreSQL did not respond in time.' } },
  ]);
  send();
});
