import { mapSchema, MapperKind } from '@graphql-tools/utils';
import { assert, asyncProperty } from 'fast-check';
import {
  defaultFieldResolver,
  type DocumentNode,
  getNullableType,
  type GraphQLError,
  type GraphQLSchema,
  isNonNullType,
  OperationTypeNode,
} from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import { raw } from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';

import { createAuthenticate } from '../../src/gateway/auth/caller.ts';
import { readConfig } from '../../src/gateway/config/config.ts';
import { coerceVariables, pickDeclared } from '../../src/gateway/operation/accept/input.ts';
import { withValuePath } from '../../src/gateway/operation/accept/value-errors.ts';
import { toClientResult } from '../../src/gateway/operation/client-errors.ts';
import { ParsedDocument } from '../../src/gateway/operation/operation.ts';
import type { Call } from '../../src/gateway/operation/request.ts';
import { executeByGraphqlJs } from '../../src/gateway/operation/steps/graphql-js.ts';
import { limitResult } from '../../src/gateway/operation/steps/limits.ts';
import type { Log } from '../../src/gateway/telemetry/log.ts';
import type { RequestLog } from '../../src/gateway/telemetry/request-log.ts';
import { petStore } from '../../src/store/index.ts';
import { type FilledStore, fillStore, openFaulty } from '../support/faulty-store.ts';
import { type ClientError, gateway, type GraphqlResponse, useGateway } from '../support/gateway.ts';
import { letASecondPass } from '../support/logged.ts';
import { type Operation, operationsOn, TAME, WILD, UNLIMITED } from '../support/operations.ts';
import { rounds } from '../support/rounds.ts';

const { schema } = petStore;

// The gateway compiles a query at its third execution.
const REPETITIONS = rounds(3, 4);
const QUERIES = rounds(20, 500);
const MUTATIONS = rounds(8, 200);

type Ask = (operation: Operation) => Promise<GraphqlResponse>;

let store: FilledStore;
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

    const { data, errors, extensions } = (await response.json()) as GraphqlResponse;
    return { status: response.status, data, errors, extensions };
  };

const CONFIG = readConfig({});
const LIMITS = { ...CONFIG.limits, ...UNLIMITED };

const usePaths: Plugin = {
  onValidate: ({ setValidationFn, validateFn }) =>
    setValidationFn((of: GraphQLSchema, document: DocumentNode, ...options: unknown[]) =>
      validateFn(of, document, ...options).map((error: GraphQLError) =>
        withValuePath(document, error, of),
      ),
    ),
};

const useCall: Plugin<Call> = {
  onExecute({ args: { schema: of, document, operationName, variableValues }, extendContext }) {
    const operation = new ParsedDocument(of, document).find(operationName);
    if (!operation) throw new Error('The document has no such operation.');
    const variables = pickDeclared(operation.node, variableValues ?? {}, LIMITS);
    const coerced = coerceVariables(operation, variables);
    const estimate = operation.estimate(coerced ?? variables);
    extendContext({ operation, variables, coerced, estimate });
  },
};

/** A second way to execute operations on the same store: with graphql-js's executor. */
function referenceOn(executed: GraphQLSchema, log: Log): Ask {
  const { db } = gateway;
  const yoga = createYoga<{ requestLog: RequestLog }>({
    schema: executed,
    context: async () => ({
      source: { db, observeBatch: () => {} },
      caller: await createAuthenticate(undefined)({ headers: {}, requestLog: { id: 'reference' } }),
      recipient: { destroyed: false },
      changes: { publishWrite: () => {} },
      req: { headers: {} },
      params: {},
    }),
    plugins: [usePaths, useCall, executeByGraphqlJs(CONFIG), limitResult(LIMITS)],
    logging: false,
    maskedErrors: false,
  });
  const request = new Request('http://localhost/graphql', { method: 'POST' });
  return async (operation) => {
    // Omits undefined variables, as JSON does.
    const params = JSON.parse(JSON.stringify(operation)) as Operation;
    const requestLog = { id: 'reference' };
    const result = await yoga.getResultForParams({ params, request }, { requestLog });
    if (!result || Symbol.asyncIterator in result) throw new Error('There is no single result.');
    const body = result.errors ? toClientResult(result, log, requestLog) : result;
    const { data, errors, extensions } = JSON.parse(JSON.stringify(body)) as GraphqlResponse;
    // In application/json, the status for a document that is not valid is 200.
    const ofRequest =
      errors?.filter(({ path, extensions: { code } }) => !path && !code.startsWith('GRAPHQL')) ??
      [];
    const status = Math.max(200, ...ofRequest.map((error) => error.extensions.status));
    return { status, data, errors, extensions };
  };
}

/** Returns the schema with all fields nullable, so that an error in one field does not null out others. */
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
          if (value == null) throw new Error('A non-null field is null.');
          return value;
        },
      };
    },
  });

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

/** Returns the paths of the nulls that errors left in a response, each once. */
const placesOf = ({ data, errors = [] }: GraphqlResponse): string[] =>
  [...new Set(errors.map(({ path = [] }) => placeOf(data, path)))].toSorted();

/**
 * Checks that a response equals graphql-js's. Errors may come in any order, and if several errors make the
 * same field null, an executor may report one or more of them.
 */
async function expectSame(
  operation: Operation,
  response: GraphqlResponse,
  reference: GraphqlResponse,
): Promise<void> {
  expect({ ...response, errors: placesOf(response) }).toEqual({
    ...reference,
    errors: placesOf(reference),
  });
  // The fields must be in the order of the document: some clients compare or cache the JSON.
  expect(JSON.stringify(response.data)).toBe(JSON.stringify(reference.data));
  const told = texts(response.errors);
  expect(new Set(told).size).toBe(told.length);
  if (told.join() === texts(reference.errors).join()) return;
  const possible = texts((await askLenient(operation)).errors);
  await store.putBack();
  expect(possible).toEqual(expect.arrayContaining(told));
}

/** Checks that the gateway returns the same result as graphql-js each time it receives the operation. */
async function expectAsReference(operation: Operation): Promise<void> {
  const isWriting = operation.query.includes('mutation');
  const reference = await askReference(operation);
  const written = isWriting && (await store.putBack());
  for (let time = 1; time <= REPETITIONS; time += 1) {
    letASecondPass();
    const response = await askGateway(operation);
    const logged = gateway.loggedErrors.splice(0);
    expect(isWriting && (await store.putBack())).toEqual(written);
    await expectSame(operation, response, reference);
    const failures = response.errors?.filter(({ extensions }) => extensions.status >= 500) ?? [];
    // The same cause is logged once.
    expect(logged.length > 0).toBe(failures.length > 0);
    expect(logged.length).toBeLessThanOrEqual(failures.length);
  }
}

/** Short operations for which a compiled query's result could differ from graphql-js's. */
const CASES: [what: string, query: string, variables?: Record<string, unknown>][] = [
  [
    'errors in several places',
    '{ a: pet(id: "x") { id } b: pet(id: 8) { status } orders { nodes { shipDate } } }',
  ],
  ['an error in a non-null field', '{ a: pet(id: 8) { status } b: pet(id: 1) { id } }'],
  ['a row that does not exist', '{ a: pet(id: 6) { id category { id } } b: pet(id: 77) { id } }'],
  ['a date that cannot be sent', '{ order(id: 6) { shipDate quantity } }'],
  [
    'a cursor with a date that cannot be sent',
    '{ orders(orderBy: { field: SHIP_DATE }) { edges { cursor } pageInfo { endCursor } } }',
  ],
  [
    'cursors of several sort orders',
    `{ a: pets(orderBy: { field: NAME }) { edges { cursor } }
      b: orders(first: 2, orderBy: { field: SHIP_DATE, direction: DESC }) { pageInfo { startCursor endCursor } }
      c: inventory(last: 2, orderBy: { field: QUANTITY }) { pageInfo { startCursor endCursor } } }`,
  ],
  [
    'whether there are items before and after a page',
    `{ a: pets(first: 1, after: "WyJJRCIsIjIiXQ") { ...Info } b: pets(first: 9, before: "WyJJRCIsIjQiXQ") { ...Info }
      c: pets(last: 1, after: "WyJJRCIsIjIiXQ") { ...Info } d: pets(last: 1, before: "WyJJRCIsIjQiXQ") { ...Info } }
      fragment Info on PetConnection { pageInfo { hasNextPage hasPreviousPage } }`,
  ],
  [
    'strings that JSON escapes',
    '{ pets(first: 4) { nodes { name } } categories { nodes { description } } }',
  ],
  [
    'an invalid argument in a fragment on a type that does not occur',
    '{ category(id: 1) { ... on Node { ... on Pet { category { pets(before: "x") { totalCount } } } } } }',
  ],
  [
    'only the type of a page whose arguments are rejected',
    '{ pets(first: 3, after: "x") { __typename } }',
  ],
  [
    'null as the condition of a directive',
    'query ($v: Boolean = true) { pet(id: 1) @skip(if: $v) { id } }',
    { v: null },
  ],
  [
    'null for a variable with a default, used where null is not allowed',
    'query ($v: PetSortField = ID) { pets(orderBy: { field: $v }) { totalCount } }',
    { v: null },
  ],
];

const cursor = (...position: string[]): string =>
  Buffer.from(JSON.stringify(['NAME', ...position])).toString('base64url');

const isCompiled = (sql: string): boolean => / as json(, .+ as ms from unnest|$)/.test(sql);

/** Like WILD, with names that make a statement fail. */
const FAILING = {
  ...WILD,
  texts: { ...WILD.texts, name: [...(WILD.texts['name'] ?? []), 'fails', 'busy'] },
};

useGateway({}, openFaulty, UNLIMITED);
beforeAll(async () => {
  store = await fillStore(gateway.db);
  askGateway = toAsk((init) => fetch(`${gateway.url}/graphql`, init));
  const log: Log = { ...console, isLevelEnabled: () => false, error: () => {} };
  askReference = referenceOn(schema, log);
  askLenient = referenceOn(leniently(schema), log);
});

describe('executing an operation', () => {
  it('returns the same result as graphql-js for generated queries without errors, however often they are executed', async () => {
    const queries = operationsOn(schema, OperationTypeNode.QUERY, rounds(5, 7), TAME);
    await assert(asyncProperty(queries, expectAsReference), { numRuns: QUERIES });
  });

  describe('on a store with missing rows', () => {
    beforeAll(() => store.removeRows());

    it.each([
      ['queries', OperationTypeNode.QUERY, rounds(5, 6), QUERIES, WILD],
      ['mutations', OperationTypeNode.MUTATION, 4, MUTATIONS, FAILING],
    ] as const)(
      'returns the same result as graphql-js for generated %s, however often they are executed',
      async (...row) => {
        const [, kind, depth, numRuns, ingredients] = row;
        const operations = operationsOn(schema, kind, depth, ingredients);
        await assert(asyncProperty(operations, expectAsReference), { numRuns });
      },
    );
  });

  describe('on a store with missing rows and values that cannot be sent', () => {
    beforeAll(() => store.spoilValues());

    it.each(CASES)(
      'returns the same result as graphql-js for %s',
      async (_what, query, variables) => {
        await expectAsReference({ query, variables: variables ?? {} });
      },
    );

    it('executes the mutations after one that fails, as graphql-js does', async () => {
      const query = `mutation {
          a: createCategory(input: { name: "fails" }) { __typename }
          b: createCategory(input: { name: "made" }) { __typename }
        }`;
      await expectAsReference({ query, variables: {} });
    });
  });
});

describe('a query that is executed repeatedly', () => {
  it('returns its own data, whatever values other requests pass to the same statement', async () => {
    const query = `query ($after: String, $before: String) {
        pets(first: 100, orderBy: { field: NAME }, after: $after, before: $before) { nodes { id } } }`;
    // Joined by line breaks, the values of the two operations are the same string.
    const operations = [
      [cursor('1', 'A'), cursor('2', 'M\n5\nZ')],
      [cursor('5', 'A\n1\nM'), cursor('2', 'Z')],
    ].map(([after, before]) => ({ query, variables: { after, before } }));
    const expected = await Promise.all(operations.map(askReference));
    expect(expected[0]).not.toEqual(expected[1]);
    // Only requests that arrive at the same time share a statement.
    let isShared = false;
    for (let time = 1; time <= 100 && !isShared; time += 1) {
      gateway.statements.length = 0;
      expect(await Promise.all(operations.map(askGateway))).toEqual(expected);
      isShared = gateway.statements.length === 1;
    }
    expect(isShared).toBe(true);
  });

  it('uses the variables of its own request, whatever variables earlier requests had', async () => {
    const query = `query ($first: Int, $last: Int, $field: PetSortField!, $status: [PetStatus!], $isNamed: Boolean = true) {
        pets(first: $first, last: $last, orderBy: { field: $field, direction: DESC }, filter: { status: $status }) {
          nodes { id name @include(if: $isNamed) } } }`;
    const each = [
      { field: 'ID', first: 2 },
      { field: 'ID', first: 3 },
      { field: 'ID', last: 2 },
      { field: 'NAME', first: 2 },
      { field: 'ID', first: 2, status: ['SOLD'] },
      { field: 'ID', first: 2, isNamed: false },
    ];
    const results = new Set<string>();
    for (const variables of each) {
      await expectAsReference({ query, variables });
      results.add(JSON.stringify(await askReference({ query, variables })));
    }
    expect(results.size).toBe(each.length);
  });

  it('is left to graphql-js if one statement would have too many relations to plan', async () => {
    const relations = Array.from(
      { length: 4 },
      (_value, index) => `a${index}: category { pets(first: 1) { nodes { category { id } } } }`,
    );
    const query = `{ pet(id: 1) { ${relations.join(' ')} } }`;
    for (let time = 1; time <= 3; time += 1) await gateway.data(query);
    gateway.statements.length = 0;
    await gateway.data(query);
    expect(gateway.statements.length).toBeGreaterThan(0);
    expect(gateway.statements.filter(isCompiled)).toEqual([]);
  });
});

const FIELDS: readonly string[] = ['a', 'b', 'c'];
const QUERY = `{
    a: pet(id: 1) { id name }
    b: pet(id: 2) { name }
    c: category(id: 1) { pets(first: 1) { nodes { id } } }
  }`;

it('a compiled statement that fails is not repeated, and returns its error in each root field', async () => {
  for (let time = 1; time <= 3; time += 1) await gateway.data(QUERY);
  await gateway.db.write(raw('alter table pets rename column name to title'));
  gateway.statements.length = 0;
  const { status, data, errors = [] } = await gateway.graphql(QUERY);
  expect({ status, data }).toEqual({ status: 200, data: { a: null, b: null, c: null } });
  expect(errors.map(({ path }) => path)).toEqual(FIELDS.map((field) => [field]));
  expect(errors.map(({ extensions }) => extensions.code)).toEqual(
    FIELDS.map(() => 'INTERNAL_SERVER_ERROR'),
  );
  expect(gateway.statements).toHaveLength(1);
  expect(gateway.loggedErrors.splice(0)).toHaveLength(1);
  await gateway.db.write(raw('alter table pets rename column title to name'));
  // After the failure, graphql-js executes the query for a while.
  gateway.statements.length = 0;
  await gateway.data(QUERY);
  expect(gateway.statements.filter(isCompiled)).toEqual([]);
});
