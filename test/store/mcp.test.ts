import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';

import { beforeAll, describe, expect, it } from 'vitest';

import { gateway, useGateway, useOther } from '../support/gateway.ts';
import { deleteChanges } from '../support/maintenance.ts';
import { makeCategory, makeOrder, makePet, mutate, stockOf } from '../support/make.ts';
import { callOf, callTool, connectClient, postMessage } from '../support/mcp.ts';
import { untilSettled } from '../support/settled.ts';
import { AUTH_BY_SECRET, withScopes } from '../support/tokens.ts';

const FOLDER = 'src/store/tools';
const TOOLS = { MCP_OPERATIONS: FOLDER };
const ORDER_WRITES = ['cancel_order', 'complete_order', 'place_orders', 'reschedule_order'];
const PET_WRITES = ['add_pet', 'rename_pet', 'set_status'];
const WRITES = [...ORDER_WRITES, ...PET_WRITES, 'restock'];
const ADDITIONS = ['add_pet', 'place_orders'];
const NAMES = readdirSync(FOLDER).map((file) => file.replace('.graphql', ''));
const READS = NAMES.filter((name) => !WRITES.includes(name));
// Without the one that also needs the scope `audit`.
const OPEN = READS.filter((name) => name !== 'who_changed');

useGateway(TOOLS);
const guarded = useOther({ ...TOOLS, ...AUTH_BY_SECRET });
let petId: string;
beforeAll(async () => {
  petId = await makePet(gateway, { name: 'Whiskers', stock: 50 });
});

describe('the list of tools', () => {
  it('tells which tools only read or only add, that all can be repeated, and what a key is for', async () => {
    const client = await connectClient(gateway);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(NAMES);
    for (const { name, description, annotations, inputSchema } of tools) {
      expect(description).toBeTruthy();
      expect(annotations).toEqual({
        readOnlyHint: READS.includes(name),
        destructiveHint: !READS.includes(name) && !ADDITIONS.includes(name),
        idempotentHint: true,
        openWorldHint: false,
      });
      expect(inputSchema.required?.includes('idempotencyKey')).toBe(WRITES.includes(name));
    }
  });

  it.each([
    [['read'], OPEN],
    [['read', 'audit'], READS],
    [['read', 'orders:write'], [...OPEN, ...ORDER_WRITES].toSorted()],
    [['read', 'pets:write'], [...OPEN, ...PET_WRITES].toSorted()],
    [['read', 'audit', 'orders:write', 'pets:write', 'inventory:write'], NAMES],
    // A write names the pet that it is about, which is a read.
    [['orders:write'], []],
  ])('of a caller with the scopes %j is %j', async (scopes, names) => {
    const client = await connectClient(guarded, { headers: await withScopes(...scopes) });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(names);
  });
});

it.each(NAMES)('a caller without the scope of a tool is refused: %s', async (name) => {
  const call = callOf(name);
  const others = await withScopes(READS.includes(name) ? 'orders:write' : 'read');
  const writer = await withScopes('orders:write', 'pets:write', 'inventory:write');
  const response = await postMessage(guarded, call, others);
  expect(response.status).toBe(403);
  expect(response.headers.get('www-authenticate')).toContain('error="insufficient_scope"');
  expect((await postMessage(guarded, call, writer)).status).toBe(403);
  expect((await postMessage(guarded, call)).status).toBe(401);
});

it('an order that cannot be fulfilled is an error with its code, its line, and that nothing was changed', async () => {
  const client = await connectClient(gateway);
  const before = await stockOf(gateway, petId);
  const input = [
    { petId, quantity: 1 },
    { petId, quantity: 1000 },
  ];
  const result = await client.callTool({
    name: 'place_orders',
    arguments: { input, idempotencyKey: randomUUID() },
  });
  expect(result).toMatchObject({ isError: true });
  expect(JSON.stringify(result.content)).toMatch(
    /INSUFFICIENT_STOCK: Pet \d+ has \d+ units in stock\. Nothing was changed\..+line.+:1/,
  );
  expect(await stockOf(gateway, petId)).toBe(before);
});

describe('last_changes', () => {
  it('returns the newest changes at the end, with names while the pet exists, and the way to earlier ones', async () => {
    const client = await connectClient(gateway);
    const id = await makePet(gateway, { name: 'Comet', stock: 2 });
    const order = await makeOrder(gateway, id, { quantity: 2 });
    const types = ['INVENTORY_ITEM', 'ORDER'];
    await untilSettled(gateway.db);
    const { data } = await callTool(client, 'last_changes', { types, last: 2 });
    expect(data.changes.nodes).toMatchObject([
      {
        before: { quantity: 2 },
        after: { quantity: 0 },
        inventoryItem: { pet: { name: 'Comet' } },
      },
      { orderId: order, after: { petId: id, quantity: 2 }, order: { pet: { name: 'Comet' } } },
    ]);
    const { hasPreviousPage, startCursor: before } = data.changes.pageInfo;
    expect(hasPreviousPage).toBe(true);
    const { data: earlier } = await callTool(client, 'last_changes', { types, last: 1, before });
    expect(earlier.changes.nodes).toMatchObject([{ kind: 'CREATED', after: { quantity: 2 } }]);
  });

  it.each(['last_changes', 'who_changed'])(
    '%s shows where a pet was moved, and how a category is described',
    async (tool) => {
      const client = await connectClient(gateway);
      const [from, to] = [await makeCategory(gateway), await makeCategory(gateway)];
      const id = await makePet(gateway, { categoryId: from });
      await mutate(gateway, 'updatePet', { id, input: { categoryId: to } });
      await mutate(gateway, 'updateCategory', { id: to, input: { description: 'Small.' } });
      await untilSettled(gateway.db);
      const { data } = await callTool(client, tool, { types: ['CATEGORY', 'PET'], last: 2 });
      expect(data.changes.nodes).toMatchObject([
        { petId: id, before: { categoryId: from }, after: { categoryId: to } },
        { categoryId: to, before: { description: null }, after: { description: 'Small.' } },
      ]);
    },
  );

  it('returns changes to what is gone without an error', async () => {
    const client = await connectClient(gateway);
    const id = await makePet(gateway, { name: 'Gone', stock: 2 });
    const order = await makeOrder(gateway, id);
    await mutate(gateway, 'cancelOrder', { id: order });
    await mutate(gateway, 'deletePet', { id });
    await untilSettled(gateway.db);
    const { error, data } = await callTool(client, 'last_changes', { last: 2 });
    expect(error).toBeUndefined();
    expect(data.changes.nodes).toContainEqual(
      expect.objectContaining({ petId: id, kind: 'DELETED', inventoryItem: null }),
    );
  });
});

describe('changes_after', () => {
  it('returns the changes after those of last_changes, and after its own', async () => {
    const client = await connectClient(gateway);
    const { data } = await callTool(client, 'last_changes');
    let after = data.changes.pageInfo.endCursor;
    for (const name of ['One', 'Two']) {
      await mutate(gateway, 'updatePet', { id: petId, input: { name } });
      await untilSettled(gateway.db);
      const page = await callTool(client, 'changes_after', { after, types: ['PET'] });
      const { nodes, pageInfo } = page.data.changes;
      expect(nodes).toMatchObject([{ kind: 'UPDATED', petId, after: { name } }]);
      after = pageInfo.endCursor;
    }
  });

  it('says how to begin again after an expired cursor', async () => {
    const client = await connectClient(gateway);
    await makeCategory(gateway);
    await untilSettled(gateway.db);
    const { data } = await callTool(client, 'changes_after', { first: 1 });
    const after = data.changes.pageInfo.endCursor;
    await makeCategory(gateway);
    await untilSettled(gateway.db);
    await deleteChanges(gateway);
    const { error } = await callTool(client, 'changes_after', { after });
    expect(error).toMatch(/^CURSOR_EXPIRED: .+reload/);
  });
});
