import type { IncomingMessage } from 'node:http';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { plainTypeOf } from '../../src/graphql/endpoint.ts';
import { byYoga } from '../support/by-yoga.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { makePet } from '../support/make.ts';

let gateway: Gateway;
let petId: string;
beforeAll(async () => {
  gateway = await startGateway();
  petId = await makePet(gateway, { name: 'Luna' });
});
afterAll(() => gateway.close());

const JSON_TYPE = 'application/json';
const GRAPHQL_TYPE = 'application/graphql-response+json';

const isPlain = (accept?: string, method = 'POST'): boolean =>
  plainTypeOf({ method, headers: { accept } } as IncomingMessage) !== undefined;

// As fetch, Apollo Client 3 and 4, urql, Relay and GraphiQL send it.
const ACCEPTS = [
  '*/*',
  JSON_TYPE,
  GRAPHQL_TYPE,
  `${GRAPHQL_TYPE},${JSON_TYPE};q=0.9`,
  `${GRAPHQL_TYPE}, application/graphql+json, ${JSON_TYPE}, text/event-stream, multipart/mixed`,
  `${JSON_TYPE}, multipart/mixed`,
];

const REQUESTS: [what: string, toBody: () => unknown, type?: string][] = [
  [
    'a query',
    () => ({ query: 'query ($id: ID!) { pet(id: $id) { name } }', variables: { id: petId } }),
  ],
  [
    'an operation by its name',
    () => ({
      query: 'query A { __typename } query B { pets { totalCount } }',
      operationName: 'B',
    }),
  ],
  [
    'a mutation that is refused',
    () => ({ query: 'mutation { deletePet(id: "99") { ... on Error { code } } }' }),
  ],
  ['no query', () => ({})],
  ['a document that is none', () => ({ query: '{' })],
  ['a field that there is not', () => ({ query: '{ cat }' })],
  [
    'a variable of another type',
    () => ({ query: 'query ($id: ID!) { pet(id: $id) { name } }', variables: { id: {} } }),
  ],
  ['variables that are none', () => ({ query: '{ __typename }', variables: [] })],
  [
    'an operation that there is not',
    () => ({ query: 'query A { __typename }', operationName: 'B' }),
  ],
  ['a subscription', () => ({ query: 'subscription { pets }' })],
  ['an error in one field', () => ({ query: '{ a: pet(id: "x") { name } __typename }' })],
  ['an error in the whole', () => ({ query: '{ pets(first: 101) { totalCount } }' })],
  [
    'what costs too much',
    () => ({
      query: `{ ${'pets(first: 100) { nodes { category { '.repeat(3)} id ${'} } } '.repeat(3)} }`,
    }),
  ],
  [
    'what is deprecated',
    () => ({
      query: `mutation { updateInventory(petId: "1", input: { quantity: 1 }, expectedQuantity: 9) {
        ... on StaleInventory { quantity } } }`,
    }),
  ],
  ['a body that is not JSON', () => '{'],
  ['a body of another type', () => '{}', 'text/plain'],
  ['a body that is too large', () => 'x'.repeat(1_000_001)],
];

describe('a POST', () => {
  it.each(ACCEPTS)('that accepts %s needs no HTTP layer of Yoga', (accept) => {
    expect(isPlain(accept)).toBe(true);
    expect(isPlain(byYoga(accept))).toBe(false);
  });

  it.each(['text/html', 'x/y', 'application/json;charset=utf-16', 'multipart/mixed, */*', ''])(
    'that accepts %j is left to Yoga',
    (accept) => {
      expect(isPlain(accept)).toBe(false);
    },
  );

  it.each(REQUESTS)(
    'with %s is answered as by Yoga, whatever it accepts',
    async (_what, toBody, type = JSON_TYPE) => {
      const given = toBody();
      const body = typeof given === 'string' ? given : JSON.stringify(given);
      const send = async (accept: string) => {
        const response = await gateway.rest('/graphql', {
          method: 'POST',
          headers: { 'content-type': type, accept },
          body,
        });
        const { status, headers } = response;
        return { status, type: headers.get('content-type'), body: await response.text() };
      };
      for (const accept of ACCEPTS) {
        expect({ accept, ...(await send(accept)) }).toEqual({
          accept,
          ...(await send(byYoga(accept))),
        });
      }
    },
  );
});
