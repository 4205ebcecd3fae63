import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { CRUD, makeArguments, MUTATIONS } from '../../support/crud.ts';
import { useProgramStore } from '../../support/databases.ts';
import { type Gateway, openAt, startGateway } from '../../support/gateway.ts';
import { makePet } from '../../support/make.ts';
import { runSql } from '../../support/postgres.ts';
import { type Proxy, startTcpProxy, through } from '../../support/proxies.ts';
import { send } from '../../support/replicated-gateway.ts';

/** What is lost with the connection: only the response, or also the statement. */
const LOSSES = ['the response', 'the statement'] as const;
type Loss = (typeof LOSSES)[number];

/** Returns the message that a pooler sends when its server is lost. */
function lostServer(severity: string): Buffer {
  const fields = `S${severity}\0C08006\0Mserver lost\0\0`;
  const message = Buffer.from(`E....${fields}`);
  message.writeInt32BE(message.length - 1, 1);
  return message;
}

const database = useProgramStore();
let proxy: Proxy;
let direct: Gateway;
let gateway: Gateway;
let petId: string;

const startOn = (url: string): Promise<Gateway> => startGateway({ POOL_SIZE: '1' }, openAt(url));

beforeAll(async () => {
  proxy = await startTcpProxy([database.url]);
  direct = await startOn(database.url);
});
// Each test has new connections, because the text of a statement is sent only once on each connection.
beforeEach(async () => {
  gateway = await startOn(through(proxy, database.url));
  petId = await makePet(direct, { stock: 10 });
});
afterEach(() => gateway.close());
afterAll(async () => {
  await direct.close();
  await proxy.close();
});

/** Closes the connection on which a string is sent; if a severity is given, first sends an error as a pooler would. */
function lose(lost: Loss, text: string | RegExp, severity?: string): void {
  proxy.intercept(text, (message, client, server) => {
    if (lost === 'the statement') {
      client.destroy();
      return;
    }
    server.unpipe(client).once('data', () => {
      if (severity === undefined) client.destroy();
      else client.end(lostServer(severity), () => client.destroy());
    });
    // unpipe() has paused the stream.
    server.resume().write(message);
  });
}

/**
 * Sends an operation whose connection is lost when one of its statements contains a string. Expects one line in the log,
 * with the lost connection as its error or as the cause of its error.
 */
async function sendAndLose(operation: string, lost: Loss, text: string | RegExp) {
  lose(lost, text);
  const response = await send(gateway, operation);
  expect(proxy.isIntercepting).toBe(false);
  const lines = gateway.loggedErrors.splice(0) as { err: Error }[];
  expect(lines).toHaveLength(1);
  const { err } = lines[0] ?? {};
  const message = expect.stringMatching(/terminated|ECONNRESET/);
  expect([err, err?.cause]).toContainEqual(expect.objectContaining({ message }));
  return response;
}

async function ordersOf(...petIds: string[]): Promise<unknown> {
  const [row] = await runSql(
    database.url,
    `select count(*)::int as orders, coalesce(sum(quantity), 0)::int as units from orders
     where pet_id in (${petIds.join()})`,
  );
  return row;
}

const NONE = { orders: 0, units: 0 };
const ONE = { orders: 1, units: 1 };

const order = (key?: string): string =>
  `mutation ($key: String = ${JSON.stringify(key ?? null)}) {
    placeOrder(input: { petId: "${petId}", quantity: 1 }, idempotencyKey: $key) { ... on Order { id } } }`;

const FAILED = { status: 200, data: { placeOrder: null } };
const UNKNOWN = { ...FAILED, code: 'OUTCOME_UNKNOWN', retryAfter: null };
const UNAVAILABLE = { ...FAILED, code: 'SERVICE_UNAVAILABLE', retryAfter: '1' };

// The statements of a write with an idempotency key.
const STATEMENTS = ['BEGIN', 'insert into idempotency_keys', 'insert into orders', 'COMMIT'];

// Their statements are one transaction, so they write nothing before COMMIT.
const IN_TRANSACTION = CRUD.filter(({ kind }) => kind === 'updateMany').map(({ name }) => name);
const WRITING = /\b(insert into|update|delete from)\s/i;

describe('a write whose connection is lost before the response arrives', () => {
  it.each(MUTATIONS)('returns OUTCOME_UNKNOWN: %s', async (name) => {
    const { args } = await makeArguments(direct, name);
    const mutation = `mutation { ${name}(${args}) { ... on Error { code } } }`;
    const writing = IN_TRANSACTION.includes(name) ? 'COMMIT' : WRITING;
    const { data, code } = await sendAndLose(mutation, 'the response', writing);
    expect([data, code]).toEqual([{ [name]: null }, 'OUTCOME_UNKNOWN']);
  });

  it.each(LOSSES)(
    'returns OUTCOME_UNKNOWN whether or not it was applied (%s is lost)',
    async (lost) => {
      // The caller must not repeat the request blindly.
      expect(await sendAndLose(order(), lost, 'insert into orders')).toMatchObject(UNKNOWN);
      expect(await ordersOf(petId)).toEqual(lost === 'the response' ? ONE : NONE);
    },
  );
});

describe('a write with an idempotency key whose connection is lost', () => {
  it.each(STATEMENTS.flatMap((text) => LOSSES.map((lost) => [text, lost] as const)))(
    'is applied only once if it is retried, of which its error tells (at %s, %s is lost)',
    async (text, lost) => {
      const mutation = order(`${STATEMENTS.indexOf(text)} ${lost} ${petId}`);
      const isCommit = text === 'COMMIT';
      const expected = isCommit ? UNKNOWN : UNAVAILABLE;
      expect(await sendAndLose(mutation, lost, text)).toMatchObject(expected);
      const isApplied = isCommit && lost === 'the response';
      expect(await ordersOf(petId)).toEqual(isApplied ? ONE : NONE);
      const again = await gateway.data(mutation);
      expect(await gateway.data(mutation)).toEqual(again);
      expect(await ordersOf(petId)).toEqual(ONE);
    },
  );
});

it('a write whose new connection is lost during its setup is not applied, and can be retried', async () => {
  const lost = await sendAndLose(order(), 'the statement', 'SET statement_timeout');
  expect(lost).toMatchObject(UNAVAILABLE);
  expect(await ordersOf(petId)).toEqual(NONE);
  await gateway.data(order());
});

// Some poolers report the loss as an ERROR, and PostgreSQL translates the severity.
describe.each(['FATAL', 'ERROR', 'FEHLER'])(
  'a server that a pooler reports as lost with severity %s',
  (severity) => {
    it('may have placed orders that share a statement, so the gateway does not place any of them again', async () => {
      const petIds = await Promise.all(
        Array.from({ length: 6 }, () => makePet(direct, { stock: 9 })),
      );
      const place = async (id: string): Promise<string | undefined> => {
        const { errors } = await gateway.graphql(
          'mutation ($id: ID!) { placeOrder(input: { petId: $id, quantity: 1 }) { __typename } }',
          { id },
        );
        return errors?.[0]?.extensions.code;
      };
      // On new connections, the requests would arrive one at a time.
      await Promise.all(petIds.map(() => place('999999')));
      lose('the response', 'skip locked', severity);
      const codes = await Promise.all(petIds.map(place));
      expect(proxy.isIntercepting).toBe(false);
      expect(codes).toContain('OUTCOME_UNKNOWN');
      gateway.loggedErrors.length = 0;
      expect(await ordersOf(...petIds)).toEqual({ orders: 6, units: 6 });
    });
  },
);

it.each(LOSSES)('a query whose connection is lost can be retried (%s is lost)', async (lost) => {
  const query = `{ pet(id: "${petId}") { name } }`;
  const { code, retryAfter } = await sendAndLose(query, lost, 'from pets');
  expect([code, retryAfter]).toEqual(['SERVICE_UNAVAILABLE', '1']);
  expect(await gateway.data(query)).toEqual({ pet: { name: 'Cleo' } });
});
