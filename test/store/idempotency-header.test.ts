import { randomUUID } from 'node:crypto';

import { MapperKind, mapSchema } from '@graphql-tools/utils';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import { gateway, postOperation, run, useGateway, useOther } from '../support/gateway.ts';
import { createSocketClient, openEvents, openSocket } from '../support/live.ts';
import { makePet, stockOf } from '../support/make.ts';
import { callOf, postMessage } from '../support/mcp.ts';
import { sendRaw } from '../support/raw.ts';

/** A store in which a mutation has no argument `idempotencyKey`. */
const withoutKey = {
  ...petStore,
  schema: mapSchema(petStore.schema, {
    [MapperKind.MUTATION_ROOT_FIELD]: ({ args = {}, ...config }, name) => {
      const { idempotencyKey, ...others } = args;
      return { ...config, args: name === 'completeOrder' || !idempotencyKey ? others : args };
    },
  }),
};

const STOCK = 100;

useGateway({ MCP_OPERATIONS: 'src/store/tools' });
const keyless = useOther({}, {}, withoutKey);
let petId: string;
beforeEach(async () => {
  petId = await makePet(gateway, { stock: STOCK });
});

afterEach(() => run('delete from idempotency_keys'));

const placed = async (): Promise<number> => STOCK - (await stockOf(gateway, petId));

const PLACE = 'placeOrder(input: { petId: $petId, quantity: 1 }) { ... on Order { id } }';
const KEYED =
  'placeOrder(input: { petId: $petId, quantity: 1 }, idempotencyKey: $key) { ... on Order { id } }';

/** Returns a mutation that declares the variables that it uses. */
function mutationOf(selections: string, fragments = '', key = '$key: String'): string {
  const text = selections + fragments;
  const declared = [
    '$petId: ID!',
    ...(text.includes('$key') ? [key] : []),
    ...(text.includes('$yes') ? ['$yes: Boolean = true'] : []),
  ];
  return `mutation (${declared.join(', ')}) { ${selections} } ${fragments}`;
}

const ONE = mutationOf(PLACE);

interface Sent {
  readonly header?: string;
  readonly extensions?: unknown;
  readonly variables?: object | undefined;
}

async function send(query: string, { header, extensions, variables }: Sent = {}, to = gateway) {
  const params = { query, variables: { petId, ...variables }, extensions };
  const headers = header === undefined ? {} : { 'Idempotency-Key': header };
  const { status, data, errors } = await postOperation(to, params, headers);
  return { status, data, errors };
}

const refusal = (code: string, message: unknown = expect.any(String)) => ({
  status: 400,
  data: undefined,
  errors: [{ message, extensions: expect.objectContaining({ code }) }],
});

describe('the header Idempotency-Key', () => {
  it.each([
    ['"key"', 'key'],
    ['key', 'key'],
    [String.raw`"\"\\"`, '"\\'],
    ['"a, b"', 'a, b'],
    [String.raw`a\b`, String.raw`a\b`],
    ['x'.repeat(255), 'x'.repeat(255)],
  ])('makes a repeated order return the first one: %s is the key %j', async (header, key) => {
    const first = await send(ONE, { header });
    expect(first.data.placeOrder).toEqual({ id: expect.any(String) });
    expect(await send(ONE, { header })).toEqual(first);
    expect(await send(mutationOf(KEYED), { variables: { key } })).toEqual(first);
    expect(await placed()).toBe(1);
  });

  it.each([
    ['nothing', ''],
    ['256 characters', 'x'.repeat(256)],
    ['an open quote', '"a'],
    ['a quote inside', 'a"b'],
    ['parameters', '"a";b=1'],
    ['an unknown escape', String.raw`"a\b"`],
    ['two strings', '"a", "b"'],
    ['characters outside of ASCII', 'ä'],
  ])('is refused if it is invalid: %s', async (_what, header) => {
    const message = expect.stringMatching(/^Idempotency-Key: must be /);
    expect(await send(ONE, { header })).toEqual(refusal('INVALID_INPUT', message));
    expect(await placed()).toBe(0);
  });

  it('is refused if it is sent twice, even with the same value', async () => {
    const body = JSON.stringify({ query: ONE, variables: { petId } });
    const lines = ['a', 'a'].map((key) => `Idempotency-Key: ${key}\r\n`).join('');
    const head = `Host: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    const bytes = `POST /graphql HTTP/1.1\r\n${head}\r\n${lines}\r\n${body}`;
    const response = await sendRaw(gateway, bytes, { wait: true });
    expect(response.status).toBe(400);
    expect(response.body).toContain('INVALID_INPUT');
    expect(await placed()).toBe(0);
  });

  it.each([
    ['a query', '{ __typename }'],
    ['a mutation without a field that writes', 'mutation { __typename }'],
  ])('is ignored in %s, even if it is invalid', async (what, query) => {
    const header = what === 'a query' ? '"' : 'a';
    expect(await send(query, { header })).toMatchObject({ status: 200, errors: undefined });
  });

  it('is ignored in a subscription', async () => {
    const stream = await openEvents(gateway, 'subscription { orderChanged { kind } }', {
      headers: { 'Idempotency-Key': '"' },
    });
    await send(ONE);
    expect(await stream.data()).toEqual({ orderChanged: { kind: 'CREATED' } });
    stream.disconnect();
  });
});

describe('extensions.idempotencyKey', () => {
  it.each([1, '', 'x'.repeat(256), 'a\0b'])(
    'is refused if it is invalid: %j',
    async (idempotencyKey) => {
      const message = expect.stringMatching(/^extensions\.idempotencyKey: must /);
      const sent = { extensions: { idempotencyKey } };
      expect(await send(ONE, sent)).toEqual(refusal('INVALID_INPUT', message));
      expect(await placed()).toBe(0);
    },
  );

  it('makes an order that is repeated over a WebSocket return the first one', async () => {
    const client = createSocketClient(gateway);
    const params = {
      query: ONE,
      variables: { petId },
      extensions: { idempotencyKey: randomUUID() },
    };
    const { value: first } = await client.iterate(params).next();
    expect(first).toEqual({ data: { placeOrder: { id: expect.any(String) } } });
    expect((await client.iterate(params).next()).value).toEqual(first);
    const { idempotencyKey } = params.extensions;
    expect((await send(ONE, { header: idempotencyKey })).data).toEqual(first?.data);
    expect(await placed()).toBe(1);
    await client.dispose();
  });
});

it("a key in the header of a WebSocket's handshake is refused for each mutation, but not for queries", async () => {
  const opened = await openSocket(gateway, { 'Idempotency-Key': 'a' });
  opened.send({ type: 'connection_init' });
  await opened.message();
  opened.send({ type: 'subscribe', id: '1', payload: { query: ONE, variables: { petId } } });
  expect(await opened.message()).toMatchObject({
    type: 'error',
    payload: [
      { message: expect.stringContaining('extensions'), extensions: { code: 'BAD_REQUEST' } },
    ],
  });
  opened.send({ type: 'subscribe', id: '2', payload: { query: '{ __typename }' } });
  expect(await opened.message()).toMatchObject({ type: 'next', id: '2' });
  opened.socket.close();
  await opened.closed;
  expect(await placed()).toBe(0);
});

const withDefault = (key: string): string => mutationOf(KEYED, '', `$key: String = "${key}"`);
const F = `fragment F on Mutation { made: ${PLACE} }`;

describe('a key outside of the document', () => {
  it.each<[what: string, query: string, variables?: object]>([
    ['an argument that is null', mutationOf(KEYED.replace('$key', 'null'))],
    ['a variable that is null', mutationOf(KEYED), { key: null }],
    ['the same argument', mutationOf(KEYED), { key: 'same' }],
    ['the same default of a variable', withDefault('same')],
    ['a field in fragments', mutationOf('...F ...F ... on Mutation { ...F }', F)],
    ['a field that is repeated', mutationOf(`${PLACE} ${PLACE} __typename`)],
    [
      'other fields that are skipped',
      mutationOf(
        `${PLACE} b: ${PLACE.replace(') {', ') @skip(if: $yes) {')} ... @include(if: false) { c: ${PLACE} } ...F @skip(if: $yes)`,
        F,
      ),
    ],
  ])('counts for the only mutation: %s', async (_what, query, variables) => {
    const sent = { header: 'same', variables };
    const first = await send(query, sent);
    expect(first).toMatchObject({ status: 200, errors: undefined });
    // The document is now cached.
    expect(await send(query, sent)).toEqual(first);
    expect(await send(query, { extensions: { idempotencyKey: 'same' }, variables })).toEqual(first);
    const both = { ...sent, extensions: { idempotencyKey: 'same' } };
    expect(await send(query, both)).toEqual(first);
    expect(await placed()).toBe(1);
  });

  it.each<[what: string, query: string, variables?: object]>([
    ['twice the same mutation', mutationOf(`${PLACE} b: ${PLACE}`)],
    [
      'two mutations with arguments of their own',
      mutationOf(`a: ${KEYED} b: ${KEYED}`),
      { key: 'same' },
    ],
    ['mutations in fragments', mutationOf(`...F ... { b: ${PLACE} }`, F)],
    [
      'a mutation that is included',
      mutationOf(`${PLACE} b: ${PLACE.replace(') {', ') @include(if: $yes) {')}`),
    ],
  ])('is refused for several mutations: %s', async (_what, query, variables) => {
    const message = expect.stringMatching(
      /the operation has 2\. Send each in a request of its own/,
    );
    for (const sent of [{ header: 'same' }, { extensions: { idempotencyKey: 'same' } }]) {
      expect(await send(query, { ...sent, variables })).toEqual(refusal('BAD_REQUEST', message));
    }
    expect(await placed()).toBe(0);
  });

  it.each<[what: string, query: string, sent: Sent]>([
    ['an argument', mutationOf(KEYED.replace('$key', '"other"')), { header: 'same' }],
    ['a variable', mutationOf(KEYED), { header: 'same', variables: { key: 'other' } }],
    ['the default of a variable', withDefault('other'), { extensions: { idempotencyKey: 'same' } }],
    [
      'extensions, although the header and the argument are the same',
      mutationOf(KEYED),
      { header: 'same', extensions: { idempotencyKey: 'other' }, variables: { key: 'same' } },
    ],
  ])('is refused if another key is in %s', async (_what, query, sent) => {
    const message = expect.stringContaining('must not differ');
    expect(await send(query, sent)).toEqual(refusal('BAD_REQUEST', message));
    expect(await placed()).toBe(0);
  });

  it('is refused by a mutation that takes no key, with the name of the mutation', async () => {
    const query = 'mutation { completeOrder(id: 1) { __typename } }';
    const message =
      'completeOrder takes no idempotency key. Send the request without one, and only once.';
    for (const sent of [{ header: 'a' }, { extensions: { idempotencyKey: 'a' } }]) {
      expect(await send(query, sent, keyless)).toEqual(refusal('BAD_REQUEST', message));
    }
    expect((await send(query, {}, keyless)).data.completeOrder).toBeTruthy();
  });
});

/** Places an order with a tool, and returns the text of the response. */
const order = async (key: string | undefined, header: string) => {
  const args = { input: [{ petId, quantity: 1 }], idempotencyKey: key };
  const headers = { 'Idempotency-Key': header };
  const response = await postMessage(gateway, callOf('place_orders', args), headers);
  return response.text();
};

describe('the header Idempotency-Key of a tool', () => {
  it('may be the same as its argument, and is refused if it differs or if the argument is missing', async () => {
    const key = randomUUID();
    const first = await order(key, `"${key}"`);
    expect(first).toContain('"placeOrders"');
    expect(await order(key, key)).toBe(first);
    expect(await order(key, 'other')).toContain('BAD_REQUEST: The Idempotency-Key');
    expect(await order(undefined, key)).toContain('INVALID_INPUT: idempotencyKey');
    expect(await placed()).toBe(1);
  });

  it('is ignored if the tool only reads', async () => {
    const headers = { 'Idempotency-Key': '"' };
    const response = await postMessage(gateway, callOf('pet', { id: petId }), headers);
    expect(await response.text()).toContain(`"structuredContent":{"pet":{"id":"${petId}"`);
  });
});
