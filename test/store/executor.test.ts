import { mapSchema, MapperKind } from '@graphql-tools/utils';
import { assert, asyncProperty } from 'fast-check';
import {
  defaultFieldResolver,
  execute,
  getNullableType,
  type GraphQLSchema,
  isNonNullType,
  OperationTypeNode,
} from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { createAuthenticate } from '../../src/auth/tokens.ts';
import { useClientErrors } from '../../src/graphql/errors.ts';
import { useDeprecations } from '../../src/graphql/plugins/use-deprecations.ts';
import { schema } from '../../src/graphql/schema.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import type { RequestLog } from '../../src/telemetry/request-log.ts';
import { fillStore, openFaulty, spoilRows } from '../support/faulty-store.ts';
import {
  type ClientError,
  type Gateway,
  type GraphqlAnswer,
  startGateway,
} from '../support/gateway.ts';
import { type Operation, operationsOn, TAME, WILD, UNLIMITED } from '../support/operations.ts';

// An executor may answer an operation that it has seen before in another way.
const SIGHTINGS = 4;
const QUERIES = 80;
const MUTATIONS = 40;
// Vitest would end a test that takes longer, and what failed would stay untold.
const LIMIT = { interruptAfterTimeLimit: 40_000 };

/** Answers an operation over HTTP. */
type Ask = (operation: Operation) => Promise<GraphqlAnswer>;

let gateway: Gateway;
let putBack: () => Promise<unknown>;
let askGateway: Ask;
let askReference: Ask;
let askLenient: Ask;

const toAsk =
  (send: (init: RequestInit) => Response | Promise<Response>): Ask =>
  async (operation) => {
    const response = await send({
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(operation),
    });

    const { data, errors, extensions } = (await response.json()) as GraphqlAnswer;
    return { status: response.status, data, errors, extensions };
  };

/** The same gateway, but for HTTP itself and for the executor: that is graphql-js's own. */
function referenceOn(executed: GraphQLSchema, log: Log): Ask {
  const { db } = gateway;
  const yoga = createYoga<{ requestLog: RequestLog }>({
    schema: executed,
    context: async () => ({
      store: { db, maxPage: 100, observeBatch: createMetrics().observeBatch },
      caller: await createAuthenticate(undefined)({}),
    }),
    plugins: [
      { onExecute: (event) => event.setExecuteFn(execute) } satisfies Plugin,
      useDeprecations(),
      useClientErrors({ introspection: true }, log),
    ],
    logging: false,
    maskedErrors: false,
  });
  return toAsk((init) =>
    yoga.fetch('http://localhost/graphql', init, { requestLog: { id: 'reference' } }),
  );
}

/** A schema whose fields may be null: an error in one takes no other with it. */
const leniently = (strict: GraphQLSchema): GraphQLSchema =>
  mapSchema(strict, {
    [MapperKind.COMPOSITE_FIELD]: (field) => {
      const { type, resolve = defaultFieldResolver } = field;
      if (!isNonNullType(type)) return field;
      return {
        ...field,
        type: getNullableType(type),
        resolve: async (...args) => {
          const value: unknown = await resolve(...args);
          if (value == null) throw new Error('A field that may not be null is.');
          return value;
        },
      };
    },
  });

beforeAll(async () => {
  gateway = await startGateway(UNLIMITED, openFaulty);
  putBack = await fillStore(gateway.db);
  askGateway = toAsk((init) => fetch(`${gateway.url}/graphql`, init));
  const log: Log = { ...console, isLevelEnabled: () => false, error: () => {} };
  askReference = referenceOn(schema, log);
  askLenient = referenceOn(leniently(schema), log);
});
afterAll(() => gateway.close());

/** Where an error left a null: the last place of its path that is still in the data. */
function placeOf(data: unknown, path: readonly (string | number)[]): string {
  let value = data;
  let depth = 0;
  while (value != null && depth < path.length) {
    value = (value as Record<string | number, unknown>)[path[depth] ?? ''];
    depth += 1;
  }
  return JSON.stringify(path.slice(0, depth));
}

const texts = (errors: readonly ClientError[] = []): string[] =>
  errors.map((error) => JSON.stringify(error)).toSorted();

/** The places of the nulls that errors left in an answer, each once. */
const placesOf = ({ data, errors = [] }: GraphqlAnswer): string[] =>
  [...new Set(errors.map(({ path = [] }) => placeOf(data, path)))].toSorted();

/**
 * Checks that an answer is the reference's. Errors may come in any order; and of several that leave
 * the same null, GraphQL lets each executor tell one or more.
 */
async function expectSame(
  operation: Operation,
  answer: GraphqlAnswer,
  reference: GraphqlAnswer,
): Promise<void> {
  expect({ ...answer, errors: placesOf(answer) }).toEqual({
    ...reference,
    errors: placesOf(reference),
  });
  // In the order of the document, as clients that stream or cache the text expect.
  expect(JSON.stringify(answer.data)).toBe(JSON.stringify(reference.data));
  const told = texts(answer.errors);
  expect(new Set(told).size).toBe(told.length);
  if (told.join() === texts(reference.errors).join()) return;
  const possible = texts((await askLenient(operation)).errors);
  await putBack();
  expect(possible).toEqual(expect.arrayContaining(told));
}

/** Checks that the gateway answers each sighting of an operation as graphql-js does. */
async function expectAsReference(operation: Operation): Promise<void> {
  const isWriting = operation.query.includes('mutation');
  const reference = await askReference(operation);
  const store = isWriting && (await putBack());
  for (let sighting = 1; sighting <= SIGHTINGS; sighting += 1) {
    const answer = await askGateway(operation);
    const logged = gateway.loggedErrors.splice(0);
    expect(isWriting && (await putBack())).toEqual(store);
    await expectSame(operation, answer, reference);
    const failures = answer.errors?.filter(({ extensions }) => extensions.status >= 500) ?? [];
    expect(logged).toHaveLength(failures.length);
  }
}

describe('an operation', () => {
  it.each([
    ['query that goes well', OperationTypeNode.QUERY, 7, QUERIES, TAME],
    ['query', OperationTypeNode.QUERY, 6, QUERIES, WILD],
    ['mutation', OperationTypeNode.MUTATION, 4, MUTATIONS, WILD],
  ] as const)(
    'that is a %s is answered as by graphql-js, however often it is seen',
    async (...row) => {
      const [, kind, depth, numRuns, ingredients] = row;
      const operations = operationsOn(schema, kind, depth, ingredients);
      await assert(asyncProperty(operations, expectAsReference), { numRuns, ...LIMIT });
    },
  );

  // What a compiling executor may well do otherwise, each as short as it can be said.
  it.each<[string, string, Record<string, unknown>?]>([
    [
      'errors in several places',
      '{ a: pet(id: "x") { id } b: pet(id: 5) { status } categories { nodes { description } } }',
    ],
    [
      'errors in several items',
      '{ orders { nodes { shipDate pet { category { description } } } } }',
    ],
    [
      'an error in a value that may not be null',
      '{ a: pet(id: 7) { status } b: pet(id: 8) { status } }',
    ],
    [
      'an error in place of a value',
      '{ a: pet(id: 6) { status } b: category(id: 3) { description } }',
    ],
    ['a value that can not be serialized', '{ order(id: 6) { shipDate quantity } }'],
    [
      'a fragment that is left out once',
      '{ pet(id: 1) { ...A @skip(if: true) ...A } } fragment A on Pet { id }',
    ],
    [
      'a fragment in two others',
      '{ pet(id: 1) { ...A @skip(if: true) ...B } } fragment A on Pet { ...C } fragment B on Pet { ...C } fragment C on Pet { id }',
    ],
    ['a response key of every object', '{ pet(id: 1) { __proto__: id toString: name } }'],
    [
      'a condition that is null',
      'query ($v: Boolean = true) { pet(id: 1) @skip(if: $v) { id } }',
      { v: null },
    ],
    ['a default of a variable that may not be null', 'query ($v: ID! = 3) { pet(id: $v) { id } }'],
    [
      'a default in an input object',
      'query ($v: PetSort) { pets(orderBy: $v) { totalCount } }',
      { v: { field: 'NAME' } },
    ],
    [
      'null for a variable whose default may stand where null may not',
      'query ($v: PetSortField = ID) { pets(orderBy: { field: $v }) { totalCount } }',
      { v: null },
    ],
    [
      'null for a variable where only a default of the field may take its place',
      'query ($v: SortDirection) { pets(orderBy: { field: ID, direction: $v }) { totalCount } }',
      { v: null },
    ],
    [
      'no value for a variable where a default of the field takes its place',
      'query ($v: SortDirection) { pets(orderBy: { field: ID, direction: $v }) { totalCount } }',
    ],
    ['a number for an id', 'query ($v: ID!) { pet(id: $v) { id } }', { v: 9 }],
    ['an id that is none', 'query ($v: ID!) { pet(id: $v) { id } }', { v: {} }],
    [
      'an enum value that is none',
      'query ($v: PetFilter) { pets(filter: $v) { totalCount } }',
      { v: { status: 'EATEN' } },
    ],
    [
      'a date that is none',
      'mutation ($v: DateTime) { rescheduleOrder(id: 1, shipDate: $v) { __typename } }',
      { v: '2027-02-30T00:00:00Z' },
    ],
  ])('with %s is answered as by graphql-js', async (_what, query, variables = {}) => {
    spoilRows(true);
    await expectAsReference({ query, variables }).finally(() => spoilRows(false));
  });

  it('of several mutations ends at one that fails', async () => {
    const query = `mutation {
      a: createCategory(input: { name: "fails" }) { __typename }
      b: createCategory(input: { name: "not made" }) { __typename }
    }`;
    await expectAsReference({ query, variables: {} });
  });
});
