import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { useProgramStore } from '../../support/databases.ts';
import { type Gateway, openAt, startGateway } from '../../support/gateway.ts';
import { letASecondPass } from '../../support/logged.ts';
import { type Proxy, startTcpProxy, through } from '../../support/proxies.ts';

let gateway: Gateway;
let proxy: Proxy;
const database = useProgramStore();
beforeAll(async () => {
  proxy = await startTcpProxy([database.url]);
  gateway = await startGateway(
    { POOL_SIZE: '1', STATEMENT_TIMEOUT_MS: '500' },
    openAt(through(proxy, database.url)),
  );
});
afterAll(async () => {
  await gateway.close();
  await proxy.close();
});

/**
 * Holds back the first message to PostgreSQL that contains a string, and all later ones; returns a function that sends
 * them.
 */
function hold(text: string): () => void {
  let send: (() => void) | undefined;
  proxy.intercept(text, (message, client, server) => {
    client.pause();
    send = () => {
      server.write(message);
      client.resume();
    };
  });
  return () => send?.();
}

const CREATE = `mutation ($key: String) {
  createCategory(input: { name: "Newts" }, idempotencyKey: $key) { ... on Category { id } } }`;

async function expectWritten(): Promise<void> {
  const { createCategory } = await gateway.data(CREATE);
  const query = `{ category(id: "${createCategory.id}") { id } }`;
  expect(await gateway.data(query)).toEqual({ category: createCategory });
}

describe('a transaction with a statement that gets no response in time', () => {
  it.each(['BEGIN', 'insert into idempotency_keys', 'insert into categories', 'COMMIT'])(
    'does not include the next write if the statement is %s',
    async (statement) => {
      letASecondPass();
      const send = hold(statement);
      const failed = await gateway.graphql(CREATE, { key: statement });
      expect(failed.errors?.[0]?.extensions.code).toBe('SERVICE_UNAVAILABLE');
      expect(gateway.loggedErrors.splice(0)).toHaveLength(1);
      send();
      await expectWritten();
    },
  );

  it('does not include the next write if the statement is ROLLBACK', async () => {
    const send = hold('ROLLBACK');
    const order = `mutation { placeOrder(input: { petId: "1", quantity: 1 }, idempotencyKey: "none") {
      ... on Error { code } } }`;
    expect(await gateway.data(order)).toEqual({ placeOrder: { code: 'PET_NOT_FOUND' } });
    send();
    await expectWritten();
  });
});

// The statement timeout, plus the second for which the gateway then waits for PostgreSQL's error.
const LIMIT_MS = 1500;

it('a statement that gets no response times out, even on a connection that was idle for longer than the timeout', async () => {
  await gateway.data('{ categories { nodes { id } } }');
  await sleep(LIMIT_MS + 100);
  const send = hold('orders');
  const { errors } = await gateway.graphql('{ orders { nodes { id } } }');
  expect(errors?.[0]?.extensions.code).toBe('SERVICE_UNAVAILABLE');
  expect(gateway.loggedErrors.splice(0)).toMatchObject([
    { err: { message: 'Query read timeout' } },
  ]);
  send();
});
