import { assert, asyncProperty, oneof } from 'fast-check';
import { OperationTypeNode } from 'graphql';
import { describe, expect, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import {
  useGateway,
  type Gateway,
  gateway,
  type GraphqlResponse,
  postOperation,
  run,
  startOther,
  useOther,
} from '../support/gateway.ts';
import { openSocket } from '../support/live.ts';
import { makePet } from '../support/make.ts';
import { callTool, connectClient } from '../support/mcp.ts';
import { operationsOn, TAME, UNLIMITED } from '../support/operations.ts';
import { post, searchOf, TIMES_UNTIL_COMPILED } from '../support/post.ts';
import { repeat } from '../support/repeat.ts';
import { rounds } from '../support/rounds.ts';
import { AUTH_BY_SECRET, withScopes } from '../support/tokens.ts';

const REPORT = { 'graphql-explain': 'report' };

interface Explain {
  ranAs?: string;
  reason?: string;
  statements: { sql: string; ms: number; rows?: number }[];
  omittedStatements?: number;
  cost: { requested: number; parts: { field: string; cost: number }[] };
}

type Explained = GraphqlResponse & { explain: Explain };

async function explain(
  query: string,
  { on = gateway, headers = {}, ...params }: Options = {},
): Promise<Explained> {
  const result = await postOperation(on, { query, ...params }, { ...REPORT, ...headers });
  return { ...result, explain: result.extensions?.['explain'] as Explain };
}

interface Options {
  on?: Gateway;
  variables?: Record<string, unknown>;
  operationName?: string;
  headers?: Record<string, string>;
}

/** Explains the first execution of a query that could be compiled. */
async function explainOnceCompilable(query: string, options?: Options): Promise<Explained> {
  for (let time = 1; time < TIMES_UNTIL_COMPILED; time += 1) await explain(query, options);
  return explain(query, options);
}

const codeOf = ({ errors }: GraphqlResponse): unknown => errors?.[0]?.extensions.code;
const messageOf = ({ errors }: GraphqlResponse): string => errors?.[0]?.message ?? '';

const NAMES = '{ pets(first: 2) { nodes { name category { name } } } }';
const toSql = ({ statements }: Explain) => statements.map(({ sql }) => sql);

useGateway();
/** A gateway that accepts queries too large to be compiled. */
const lavish = useOther({}, { maxAliases: 1000 });

describe('the explanation of a query', () => {
  it('says that resolvers ran before its third execution, and then that one statement did, with the SQL, time and rows of all statements', async () => {
    await makePet(gateway);
    for (let time = 1; time < TIMES_UNTIL_COMPILED; time += 1) {
      gateway.statements.length = 0;
      const { explain: first, status } = await explain(NAMES);
      expect(toSql(first)).toEqual(gateway.statements);
      expect(first.statements.map(({ rows }) => rows)).toEqual([1, 1]);
      expect([status, first.ranAs, first.reason]).toEqual([
        200,
        'RESOLVERS',
        `A process compiles it at its execution 3; this was execution ${time}.`,
      ]);
    }
    gateway.statements.length = 0;
    const { data, explain: compiled } = await explain(NAMES);
    expect(data.pets.nodes[0]).toEqual({ name: 'Cleo', category: { name: 'Cats' } });
    expect(compiled).toEqual({
      ranAs: 'STATEMENT',
      statements: [{ sql: gateway.statements[0], ms: expect.any(Number), rows: 1 }],
      cost: expect.any(Object),
    });
    expect(compiled.statements[0]?.ms).toBeGreaterThan(0);
  });

  it.each([
    [
      '{ node(nodeId: "Pet_1") { nodeId } pets { totalCount } }',
      /^Query\.node has only a resolver\.$/,
    ],
    ['{ pets { nodes { name } } __type(name: "Pet") { name } }', /could be larger than \d+ bytes/],
    [
      `{ orders { nodes { ${repeat(11, (n) => `a${n}: pet { name }`)} } } }`,
      /^It joins 12 related rows, lists and groups; at most 10 are compiled\.$/,
    ],
    [
      `{ orders { ${repeat(10, (n) => `a${n}: groups(by: COMPLETE) { hasMore }`)} } }`,
      /^It joins 11 related rows, lists and groups; at most 10 are compiled\.$/,
    ],
    [
      `{ pets(first: 5, filter: { name: "cat" }) { nodes { ${repeat(90, (n) => `a${n}: name`)} } } }`,
      /^Its statement would have \d{4} characters; at most 2000 are compiled\.$/,
    ],
    [
      '{ pet(id: "1") { ... on Node { ... on Category { pets(first: 1) { totalCount } } } } }',
      /^A fragment with arguments never applies\.$/,
    ],
    [
      `{ pets(first: 1) { nodes { ${repeat(501, (n) => `a${n}: id`)} } } }`,
      /^PetConnection\.nodes contains field 501; at most 500 are compiled\.$/,
    ],
  ])('says why it is not compiled: %s', async (query, reason) => {
    const { explain: report } = await explainOnceCompilable(query, { on: lavish });
    expect([report.ranAs, report.reason]).toEqual(['RESOLVERS', expect.stringMatching(reason)]);
  });

  it('says that single rows are compiled, or that the database keeps no plans for them, and that data without a statement is constant', async () => {
    const { explain: row } = await explainOnceCompilable('{ pet(id: "1") { name } }');
    const noPlans = 'It reads only single rows, and the database keeps no plans.';
    expect([row.ranAs, row.reason]).toEqual(
      gateway.db.keepsPlans ? ['STATEMENT', undefined] : ['RESOLVERS', noPlans],
    );
    const { data, explain: constant } = await explainOnceCompilable('{ a: __typename }');
    expect(data).toEqual({ a: 'Query' });
    expect(constant).toMatchObject({ ranAs: 'CONSTANT', statements: [] });
  });

  it("says that its statement found a value that can't be sent, and lists that statement and those of the resolvers", async () => {
    const id = await makePet(gateway, { name: 'Nameless' });
    await run('alter table pets alter name drop not null');
    await run(`update pets set name = null where id = ${id}`);
    const query = `{ pets(last: 1) { nodes { name } } }`;
    const { explain: report } = await explainOnceCompilable(query);
    await run(`update pets set name = 'Named' where id = ${id}`);
    await run('alter table pets alter name set not null');
    gateway.loggedErrors.length = 0;
    expect([report.ranAs, report.reason]).toEqual([
      'RESOLVERS',
      "Its statement found a value that can't be sent.",
    ]);
    expect(report.statements).toHaveLength(2);
  });

  it('says that its statement failed, and for how long it is not compiled again', async () => {
    const query = '{ orders(first: 1) { nodes { quantity } } }';
    await explainOnceCompilable(query);
    await run('alter table orders rename quantity to amount');
    const { explain: failed } = await explain(query);
    await run('alter table orders rename amount to quantity');
    gateway.loggedErrors.length = 0;
    expect([failed.ranAs, failed.reason]).toEqual(['RESOLVERS', 'Its statement failed.']);
    expect(failed.statements.at(-1)).not.toHaveProperty('rows');
    const { explain: next } = await explain(query);
    expect(next.reason).toBe(
      'Its statement has failed; it is compiled again after 99 more executions.',
    );
  });

  it('lists at most fifty statements, and counts the others', async () => {
    const id = await makePet(gateway);
    const { explain: report } = await explain(
      `mutation { ${repeat(30, (n) => `a${n}: adjustInventory(petId: "${id}", by: 1, idempotencyKey: "${n}") { __typename }`)} }`,
    );
    expect(report.statements).toHaveLength(50);
    expect(report.omittedStatements).toBeGreaterThan(5);
  });

  it('contains none of the statements of other requests, although they would share them', async () => {
    const id = await makePet(gateway);
    const query = `{ pet(id: "${id}") { name category { pets(first: 1) { nodes { id } } } } }`;
    const alone = await explain(query);
    gateway.statements.length = 0;
    const reports = await Promise.all(
      Array.from({ length: 6 }, async (_item, index) => {
        // Each document is new, so none is compiled.
        const text = `${query} # ${index}`;
        if (index % 2 === 1) return gateway.graphql(text);
        const { explain: report } = await explain(text);
        return toSql(report);
      }),
    );
    const explained = reports.filter((report) => Array.isArray(report));
    expect(explained).toEqual([1, 2, 3].map(() => toSql(alone.explain)));
    // The other requests may share theirs.
    expect(gateway.statements.length).toBeGreaterThanOrEqual(explained.flat().length + 2);
  });

  it('is next to the error of a response that is too large', async () => {
    await makePet(gateway, { name: 'n'.repeat(200) });
    const small = await startOther({}, { maxResponseBytes: 1000 });
    const query = `{ pets(last: 1) { nodes { ${repeat(9, (n) => `a${n}: name`)} } } }`;
    const { explain: report, ...result } = await explain(query, { on: small });
    expect([codeOf(result), report.statements.length]).toEqual(['RESPONSE_TOO_LARGE', 1]);
  });

  it('says that nothing ran if an argument is invalid', async () => {
    const { explain: report } = await explainOnceCompilable('{ pets(first: 1000) { totalCount } }');
    expect(report).toMatchObject({ statements: [] });
    expect(report).not.toHaveProperty('ranAs');
  });

  it('is not in the response to a request without the header, and values of variables are in none', async () => {
    const query = 'query ($name: String!) { pets(filter: { name: $name }) { nodes { id } } }';
    const variables = { name: 'a secret name' };
    const { explain: report } = await explainOnceCompilable(query, { variables });
    expect(report.ranAs).toBe('STATEMENT');
    expect(JSON.stringify(report)).not.toContain('secret');
    expect((await gateway.graphql(query, variables)).extensions).toBeUndefined();
  });
});

it('an explained mutation writes, and its statements are listed', async () => {
  const name = 'Explained';
  const { data, explain: report } = await explain(
    'mutation ($name: String!) { createCategory(input: { name: $name }) { ... on Category { id name } } }',
    { variables: { name } },
  );
  expect(report).toMatchObject({ ranAs: 'RESOLVERS', reason: 'It is a mutation.' });
  expect(toSql(report).join()).toMatch(/insert into/i);
  const { id } = data.createCategory;
  expect(await gateway.data(`{ category(id: "${id}") { name } }`)).toEqual({
    category: { name },
  });
});

describe('the cost in an explanation', () => {
  it('is the sum of its parts, of which it has the ten largest, also if it is why an operation is rejected', async () => {
    const stingy = await startOther({}, { ...UNLIMITED, maxCost: -1 });
    const operations = oneof(
      operationsOn(petStore.schema, OperationTypeNode.QUERY, 3, TAME),
      operationsOn(petStore.schema, OperationTypeNode.MUTATION, 3, TAME),
    );
    const isSum = asyncProperty(operations, async (operation) => {
      const { explain: report } = await explain(operation.query, { on: stingy, ...operation });
      expect([report.ranAs, report.statements]).toEqual([undefined, []]);
      const { requested, parts } = report.cost;
      expect(parts).toEqual(parts.toSorted((one, other) => other.cost - one.cost));
      const total = parts.reduce((sum, { cost }) => sum + cost, 0);
      const least = Math.ceil(Number(total.toFixed(6)));
      expect(parts.length < 10 ? least === requested : least <= requested).toBe(true);
    });
    await assert(isSum, { numRuns: rounds(30, 600) });
  });

  it('has the ten most costly fields, by their paths, and the largest first', async () => {
    const { explain: report } = await explain(
      '{ all: pets(first: 50) { totalCount nodes { id category { name } } } pet(id: "1") { name } }',
    );
    expect(report.cost).toEqual({
      requested: 2672,
      parts: [
        { field: 'all.totalCount', cost: 2000 },
        { field: 'all.nodes.category', cost: 250 },
        { field: 'all', cost: 170 },
        { field: 'pet', cost: 101 },
        { field: 'all.nodes', cost: 50 },
        { field: 'all.nodes.id', cost: 50 },
        { field: 'all.nodes.category.name', cost: 50 },
        { field: 'pet.name', cost: 1 },
      ],
    });
  });

  it('has the fields of a fragment once, and a further spread of it as one part', async () => {
    const { explain: report } = await explain(
      `{ changes(first: 3) { nodes { cursor } } a: pets(first: 2) { ...Names } b: pets(first: 2) { ...Names } }
        fragment Names on PetConnection { nodes { name } }`,
    );
    const { requested, parts } = report.cost;
    expect(parts).toContainEqual({ field: 'a.nodes.name', cost: 2 });
    expect(parts).toContainEqual({ field: 'b.…Names', cost: 4 });
    expect(parts).toContainEqual({ field: 'changes.nodes.cursor', cost: 0.3 });
    const sum = parts.reduce((total, { cost }) => total + cost, 0);
    expect(Math.ceil(sum)).toBe(requested);
  });
});

describe('the header GraphQL-Explain', () => {
  it.each(['', 'true', 'Report', 'report, report'])(
    'is rejected with any other value than `report`: %j',
    async (value) => {
      const result = await explain('{ __typename }', { headers: { 'graphql-explain': value } });
      expect([result.status, codeOf(result), messageOf(result)]).toEqual([
        400,
        'BAD_REQUEST',
        'GraphQL-Explain must be `report`, and is only for operations at /graphql.',
      ]);
    },
  );

  it('requires the scope explain with tokens, before anything else is checked', async () => {
    const on = await startOther({ ...AUTH_BY_SECRET, AUTH_READ: 'open' });
    const mutation = 'mutation { createCategory(input: { name: "No" }) { __typename } }';
    for (const query of ['{ __typename }', mutation, '{']) {
      const without = await explain(query, { on });
      expect([without.status, codeOf(without)]).toEqual([401, 'UNAUTHENTICATED']);
      const headers = await withScopes('read', 'pets:write', 'metrics');
      const other = await explain(query, { on, headers });
      expect([other.status, codeOf(other), messageOf(other)]).toEqual([
        403,
        'FORBIDDEN',
        'The token lacks the scope "explain".',
      ]);
    }
    const { explain: report } = await explain(NAMES, {
      on,
      headers: await withScopes('explain'),
    });
    expect(report.ranAs).toBe('RESOLVERS');
  });

  it.each([
    { HOST: '0.0.0.0', AUTH_NONE_ANYWHERE: 'true' },
    { HOST: '127.0.0.1', AUTH_NONE_ANYWHERE: 'true' },
  ])(
    'is rejected without tokens if other machines may reach the gateway: %j',
    async (environment) => {
      const result = await explain(NAMES, { on: await startOther(environment) });
      expect([result.status, codeOf(result)]).toEqual([403, 'FORBIDDEN']);
      expect(result.explain).toBeUndefined();
    },
  );

  it('is not accepted with a subscription, nor by a tool', async () => {
    const headers = { accept: 'text/event-stream' };
    const events = await post(
      gateway,
      { query: 'subscription { petChanged { kind } }' },
      { headers: { ...REPORT, ...headers } },
    );
    expect(await events.text()).toContain("A subscription can't be explained");
    const agents = await startOther({ MCP_OPERATIONS: 'src/store/tools' });
    const client = await connectClient(agents, { headers: REPORT });
    expect((await callTool(client, 'categories')).error).toContain(
      'only for operations at /graphql',
    );
  });

  it('in the handshake of a WebSocket explains all its queries', async () => {
    const opened = await openSocket(gateway, REPORT);
    opened.send({ type: 'connection_init' });
    expect(await opened.message()).toMatchObject({ type: 'connection_ack' });
    for (const id of ['1', '2']) {
      opened.send({ type: 'subscribe', id, payload: { query: `{ of${id}: __typename }` } });
      const explained = { cost: { parts: [{ field: `of${id}`, cost: 1 }] } };
      const payload = { extensions: { explain: explained } };
      expect(await opened.message()).toMatchObject({ id, payload });
      expect(await opened.message()).toMatchObject({ type: 'complete' });
    }
    opened.socket.close();
  });

  it('works with GET, whose response is not stored', async () => {
    const search = searchOf({ query: '{ pets(first: 3) { totalCount nodes { id } } }' });
    const response = await fetch(`${gateway.url}/graphql?${search}`, { headers: REPORT });
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.json()).toMatchObject({
      extensions: { explain: { statements: [{}, {}] } },
    });
  });
});
