import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { useFolder } from '../support/folders.ts';
import { gateway, startGateway, startOther, useGateway, useOther } from '../support/gateway.ts';
import { callOf, callTool, connectClient, postMessage, writeTools } from '../support/mcp.ts';
import { AUTH_BY_SECRET, bearing, mint } from '../support/tokens.ts';

const SITE = 'https://shop.example';
const RESOURCE = `${SITE}/shop/mcp`;
const METADATA = '/.well-known/oauth-protected-resource';

const DOCUMENTS = {
  list: '"Lists them." query list($first: Int! = 2) { categories(first: $first) { nodes { id } } }',
  some: '"Finds some." query some($ids: [ID!], $first: Int) { pets(filter: { ids: $ids }, first: $first) { nodes { id } } }',
  move: '"Moves it." mutation move($id: ID!, $shipDate: DateTime, $idempotencyKey: String!) { rescheduleOrder(id: $id, shipDate: $shipDate, idempotencyKey: $idempotencyKey) { __typename } }',
  cart: '"Orders them." mutation cart($input: [NewOrder!]!, $idempotencyKey: String!) { placeOrders(input: $input, idempotencyKey: $idempotencyKey) { __typename } }',
  add: '"Adds them." mutation add($input: [NewPet!]!, $idempotencyKey: String!) { createPets(input: $input, idempotencyKey: $idempotencyKey) { __typename } }',
  many: '"Costs much." query many { categories(first: 100) { nodes { pets(first: 100) { nodes { id category { pets(first: 100) { nodes { id } } } } } } } }',
};

const folder = writeTools(useFolder(), DOCUMENTS);
useGateway({ MCP_OPERATIONS: folder, CORS_ORIGINS: SITE });
const auth = { ...AUTH_BY_SECRET, AUTH_AUDIENCE: RESOURCE };
const guarded = useOther({ MCP_OPERATIONS: folder, ...auth });

/** Sends a message three times, and returns the least time that this process computed meanwhile, in milliseconds. */
async function leastCpuMs(message: object): Promise<number> {
  const times: number[] = [];
  for (let time = 1; time <= 3; time += 1) {
    const start = process.cpuUsage();
    await (await postMessage(gateway, message)).text();
    const { user, system } = process.cpuUsage(start);
    times.push((user + system) / 1000);
  }
  return Math.min(...times);
}

const LIST = callOf('list');
const NEW_KEY = { idempotencyKey: 'new' };
const DISCOVER = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

const MODERN = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
const INITIALIZE = { protocolVersion: '2025-11-25', capabilities: {} };
const messageOf = (method: string, params?: unknown) => ({ jsonrpc: '2.0', id: 1, method, params });
const initialize = (params: object) => messageOf('initialize', params);
const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

describe('a message to /mcp', () => {
  it.each([
    ['is not JSON', '{', {}, 400],
    ['is a batch', [LIST, LIST], {}, 400],
    ['has more than 200,000 bytes', callOf('list', { first: 'x'.repeat(200_000) }), {}, 413],
    ['has a thousand capabilities', initialize({ capabilities: Array(1000).fill(1) }), {}, 413],
    ['is nested a thousand levels deep', initialize({ capabilities: nested(1000) }), {}, 413],
    ['has arguments with 50,000 values', callOf('list', { first: Array(50_000).fill(1) }), {}, 200],
    ['has another version of the protocol', LIST, { 'mcp-protocol-version': '1999-01-01' }, 400],
    ['is not called JSON', LIST, { 'content-type': 'text/plain' }, 415],
    ['comes from a page on another site', LIST, { origin: 'https://other.example' }, 403],
    ['comes from a page on an allowed site', LIST, { origin: SITE }, 200],
  ])('gets status %4$s if it %s', async (_name, message, headers, status) => {
    const text = typeof message === 'string' ? message : JSON.stringify(message);
    expect((await postMessage(gateway, text, headers)).status).toBe(status);
  });

  const LONG = 'z'.repeat(190_000);
  it.each([
    ['params', messageOf('ping', LONG)],
    ['arguments', callOf('list', LONG)],
    ['_meta', messageOf('ping', { _meta: LONG })],
  ])('takes no more time if it has a long string as %s than as a value', async (_name, message) => {
    // A string that is spread takes a hundred times as long.
    expect(await leastCpuMs(message)).toBeLessThan(
      20 * (await leastCpuMs(callOf('list', { first: LONG }))),
    );
  });

  it('is told that an argument is nested too deeply, however deeply it is', async () => {
    const deep = '['.repeat(20_000) + ']'.repeat(20_000);
    const text = JSON.stringify(callOf('list', { first: 0 })).replace(':0', `:${deep}`);
    expect(await (await postMessage(gateway, text)).text()).toContain('nested too deeply');
    expect(gateway.loggedErrors).toEqual([]);
  });

  it.each([
    ['names an unknown tool', callOf('nothing')],
    ['names no tool', callOf(1)],
    ['has arguments that are no object', callOf('list', [1])],
    ['begins with an invalid client', initialize({ ...INITIALIZE, clientInfo: [] })],
    ['names an unknown method', messageOf('prompts/list')],
  ])('gets an error of the protocol if it %s', async (_name, message) => {
    const text = await (await postMessage(gateway, message)).text();
    expect(text).toMatch(/"error":\{"code":-326\d\d,/);
  });

  it('is told which versions are supported if it declares a later one', async () => {
    const version = '2099-01-01';
    const declared = { ...DISCOVER, 'io.modelcontextprotocol/protocolVersion': version };
    const message = messageOf('tools/list', { _meta: declared });
    const headers = { ...MODERN, 'mcp-protocol-version': version };
    const response = await postMessage(gateway, message, headers);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      id: 1,
      error: { code: -32022, data: { requested: version, supported: ['2026-07-28'] } },
    });
  });

  it.each(['GET', 'DELETE'])('gets 405 and Allow if it is a %s', async (method) => {
    const response = await fetch(`${gateway.url}/mcp`, { method });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it.each([
    ['*/*', 'application/json'],
    ['application/json, text/event-stream', 'application/json'],
    ['', 'application/json'],
    ['text/event-stream', 'text/event-stream'],
    ['text/event-stream, application/json;q=0', 'text/event-stream'],
  ])('that accepts %j gets %s, in each version of the protocol', async (accept, type) => {
    for (const headers of [{}, MODERN]) {
      const message = messageOf('tools/list', headers === MODERN ? { _meta: DISCOVER } : {});
      const response = await postMessage(gateway, message, { ...headers, accept });
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toContain(type);
      const text = await response.text();
      expect(JSON.parse(text.replace(/^event: message\ndata: /, '')).result.tools).toHaveLength(
        Object.keys(DOCUMENTS).length,
      );
    }
  });

  it.each([
    ['params', 'tools/list', null],
    ['the cursor', 'tools/list', { cursor: null }],
    ['arguments', 'tools/call', { name: 'list', arguments: null }],
  ])('is the same with null for %s of %s as without', async (_name, method, params) => {
    const response = await postMessage(gateway, messageOf(method, params));
    expect(await response.json()).toHaveProperty('result');
  });

  it('that subscribes is acknowledged and ended at once, because the tools never change', async () => {
    const method = 'subscriptions/listen';
    const params = { notifications: { toolsListChanged: true }, _meta: DISCOVER };
    const headers = { ...MODERN, 'mcp-method': method };
    const response = await postMessage(gateway, messageOf(method, params), headers);
    const events = (await response.text()).split('\n\n').filter(Boolean);
    const parsed = events.map((event) => JSON.parse(event.replace(/^event: message\ndata: /, '')));
    expect(parsed).toMatchObject([
      { method: 'notifications/subscriptions/acknowledged', params: { notifications: {} } },
      { id: 1, result: { resultType: 'complete' } },
    ]);
  });

  it('that lists the tools may keep the response for some minutes', async () => {
    const message = messageOf('tools/list', { _meta: DISCOVER });
    const { result } = await (await postMessage(gateway, message, MODERN)).json();
    expect(result).toMatchObject({ ttlMs: 300_000, cacheScope: 'private' });
  });
});

describe('a call of a tool', () => {
  it.each([
    ['an unknown argument', 'list', { frist: 1 }, /^INVALID_INPUT: frist: .+ are: first\. Correct/],
    ['an argument out of bounds', 'list', { first: 101 }, /^INVALID_INPUT: first: .+ Correct/],
    ['a cost above the limit', 'many', {}, /^QUERY_TOO_COSTLY: .+ Ask for fewer items\.$/],
    ['no key', 'move', { id: '1' }, /idempotencyKey: is required\. Choose a new UUID/],
    [
      'no value where null is one',
      'move',
      { id: '1', ...NEW_KEY },
      /shipDate: .+ null to remove it/,
    ],
    ['a list in a string', 'some', { ids: '["1"]' }, /^INVALID_INPUT: ids: must be a list, not a/],
    [
      'an object in a string',
      'cart',
      { input: ['{"petId":"1","quantity":1}'], ...NEW_KEY },
      /^INVALID_INPUT: input\.0: must be an object, not a string/,
    ],
  ])('with %s returns an error that says what to do', async (_name, tool, args, error) => {
    const client = await connectClient(gateway);
    expect((await callTool(client, tool, args)).error).toMatch(error);
  });

  it('is rejected if it has an argument with the name of a property of every object', async () => {
    const args: unknown = JSON.parse('{"first":1,"__proto__":1}');
    const text = await (await postMessage(gateway, callOf('list', args))).text();
    expect(text).toContain('INVALID_INPUT: __proto__: is not an argument.');
  });

  it.each([
    ['an argument with a default', 'list', { first: null }],
    ['an optional argument', 'some', { ids: null, first: null }],
    ['an optional field', 'add', { input: [{ name: 'Rex', categoryId: '1', quantity: null }] }],
  ])('treats null for %s like no value', async (_name, tool, args) => {
    const client = await connectClient(gateway);
    const { error } = await callTool(client, tool, { ...args, ...(tool === 'add' && NEW_KEY) });
    expect(error ?? '').not.toMatch(/INVALID_INPUT/);
  });

  it('treats an empty list for an optional argument like no value, since it would match nothing', async () => {
    const client = await connectClient(gateway);
    const all = await callTool(client, 'some');
    expect(await callTool(client, 'some', { ids: [] })).toEqual(all);
    const { error } = await callTool(client, 'add', { input: [], ...NEW_KEY });
    expect(error).toMatch(/INVALID_INPUT/);
  });

  it('takes a single value where a list belongs', async () => {
    const { error, data } = await callTool(await connectClient(gateway), 'some', { ids: 7 });
    expect([error, data]).toEqual([undefined, { pets: { nodes: [] } }]);
  });

  it('reveals no inside of an unexpected error, which the log has', async () => {
    const broken = await startGateway({ MCP_OPERATIONS: folder }, async () => ({
      ...gateway.db,
      query: () => Promise.reject(new Error('planted')),
      close: async () => {},
    }));
    const client = await connectClient(broken);
    const { error } = await callTool(client, 'list');
    expect(error).toMatch(/^INTERNAL_SERVER_ERROR: /);
    expect(error).not.toContain('planted');
    expect(JSON.stringify(broken.loggedErrors.splice(0).map(String))).toContain('object');
    await broken.close();
  });

  it('is measured, logged and named as the operation of the document', async () => {
    await callTool(await connectClient(gateway), 'list');
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toMatch(/graphql_operation_duration_seconds_count\{operation_name="list"/);
    expect(metrics).toMatch(/http_request_duration_seconds_count\{method="POST",route="\/mcp"/);
    expect(gateway.loggedLines).toContainEqual(
      expect.objectContaining({ route: '/mcp', operationName: 'list', cost: expect.any(Number) }),
    );
  });

  it('works with DOCUMENTS=trusted, whose manifest need not have the document', async () => {
    const manifest = join(folder, 'manifest.json');
    writeFileSync(manifest, '{}');
    const environment = { DOCUMENTS: 'trusted', DOCUMENTS_MANIFEST: manifest };
    const trusted = await startOther({ MCP_OPERATIONS: folder, ...environment });
    const client = await connectClient(trusted);
    expect((await callTool(client, 'list')).data.categories.nodes).toEqual([]);
  });
});

describe('a gateway with tokens', () => {
  it('says where to get one, with the scopes of the tools, in a document to which 401 leads', async () => {
    const response = await postMessage(guarded, LIST);
    expect(response.status).toBe(401);
    const url = `${SITE}/shop${METADATA}`;
    expect(response.headers.get('www-authenticate')).toContain(`resource_metadata="${url}"`);
    // Clients that don't read the header know only the second path.
    for (const path of [METADATA, `${METADATA}/mcp`]) {
      expect(await (await fetch(guarded.url + path)).json()).toEqual({
        resource: RESOURCE,
        resource_name: 'Pet store',
        authorization_servers: [AUTH_BY_SECRET.AUTH_ISSUER],
        scopes_supported: ['pets:write', 'orders:write', 'read'],
        bearer_methods_supported: ['header'],
      });
    }
  });

  it('refuses a token for another audience', async () => {
    const token = bearing(await mint({ scope: 'read' }));
    expect((await postMessage(guarded, LIST, token)).status).toBe(401);
    const own = bearing(await mint({ scope: 'read', aud: RESOURCE }));
    expect((await postMessage(guarded, LIST, own)).status).toBe(200);
  });
});

it('without MCP_OPERATIONS, there are neither tools nor a document about tokens', async () => {
  const plain = await startOther({});
  for (const path of ['/mcp', METADATA]) expect((await fetch(plain.url + path)).status).toBe(404);
});

/** Returns what clients are told about a tool. */
const definitionOf = async (name: string) => {
  const { tools } = await (await connectClient(gateway)).listTools();
  return tools.find((tool) => tool.name === name);
};

describe('the bounds of an argument', () => {
  it('are those of the rule that checks it', async () => {
    const quantity = { type: 'integer', minimum: 1, maximum: 2_147_483_647 };
    expect((await definitionOf('cart'))?.inputSchema.properties).toMatchObject({
      input: { description: 'The entries: 1 to 1000.', items: { properties: { quantity } } },
    });
    expect((await definitionOf('add'))?.inputSchema.properties).toMatchObject({
      input: { items: { properties: { quantity: { minimum: 0 } } } },
    });
  });

  it('of a page are its sizes, without words for programs', async () => {
    const description = 'The maximum number of items to return.';
    const first = { type: 'integer', description, minimum: 0, maximum: 100, default: 2 };
    expect((await definitionOf('list'))?.inputSchema.properties).toEqual({ first });
  });

  it('include null only if null removes a value, and then the argument is required', async () => {
    const { properties, required } = (await definitionOf('move'))?.inputSchema ?? {};
    expect(properties).toMatchObject({
      shipDate: { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] },
    });
    expect(required).toEqual(['id', 'shipDate', 'idempotencyKey']);
    expect(JSON.stringify((await definitionOf('some'))?.inputSchema)).not.toContain('null');
  });
});
