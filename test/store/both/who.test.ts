import { readFile } from 'node:fs/promises';

import sql, { raw } from 'sql-template-tag';
import { describe, expect, it } from 'vitest';

import { describeOnGateways, gateway, useOther } from '../../support/gateway.ts';
import { createSocketClient, openUntilEnd } from '../../support/live.ts';
import { makeCategory, makeOrder, makePet } from '../../support/make.ts';
import { callTool, connectClient } from '../../support/mcp.ts';
import { post } from '../../support/post.ts';
import { lastCursor, untilSettled } from '../../support/settled.ts';
import { AUTH_BY_SECRET, bearing, mint } from '../../support/tokens.ts';

const migrationOf = (name: string): Promise<string> =>
  readFile(`prisma/migrations/${name}/migration.sql`, 'utf8');

const run = (text: string): Promise<unknown> => gateway.db.write(raw(text));

const ALL = 'read pets:write inventory:write orders:write audit';
const headersOf = async (sub: string, scope = ALL) => bearing(await mint({ sub, scope }));

interface Author {
  readonly by: string | null;
  readonly requestId: string | null;
  readonly operationName: string | null;
}

const NOBODY: Author = { by: null, requestId: null, operationName: null };
const WHO = 'by requestId operationName';

interface Change extends Author {
  readonly __typename: string;
  readonly kind: string;
  readonly after: { readonly petId: string } | null;
}

const authorOf = ({ by, requestId, operationName }: Author): Author => ({
  by,
  requestId,
  operationName,
});

const CHANGES = `query ($after: String) { changes(after: $after, first: 100) { nodes {
  __typename kind ${WHO}
  ... on OrderChange { after { petId } } ... on InventoryItemChange { after { petId } } } } }`;

/** Returns the changes that `write` makes, read without tokens. */
async function changesOf(write: () => Promise<unknown>): Promise<Change[]> {
  const after = await lastCursor(gateway);
  await write();
  await untilSettled(gateway.db);
  return (await gateway.data(CHANGES, { after })).changes.nodes;
}

/** Returns who made the changes of `write`, each author once. */
async function authorsOf(write: () => Promise<unknown>): Promise<Author[]> {
  const authors = (await changesOf(write)).map(authorOf);
  return authors.filter(
    (author, index) =>
      authors.findIndex((other) => JSON.stringify(other) === JSON.stringify(author)) === index,
  );
}

const SELECTED = '__typename ... on Error { code message }';

describeOnGateways(() => {
  const secured = useOther({ ...AUTH_BY_SECRET, MCP_OPERATIONS: 'src/store/tools' });

  /** Sends an operation as a caller, and returns its data. */
  async function send(query: string, sub: string, more: Record<string, string> = {}) {
    const headers = { ...(await headersOf(sub)), ...more };
    const response = await post(secured, { query }, { headers });
    const { data, errors } = await response.json();
    expect(errors).toBeUndefined();
    expect(JSON.stringify(data)).not.toContain('"code"');
    return { data, requestId: response.headers.get('x-request-id') };
  }

  it.each([
    ['createCategory(input: { name: "Cats" })'],
    ['createPet(input: { name: "Ida", categoryId: "C", quantity: 3 })'],
    ['createPets(input: [{ name: "Ida", categoryId: "C" }, { name: "Bo", categoryId: "C" }])'],
    ['updatePet(id: "P", input: { name: "Max" })'],
    ['updatePets(input: [{ id: "P", name: "Ida" }, { id: "Q", name: "Max" }])'],
    ['updateInventory(petId: "P", input: { quantity: 7 })'],
    ['adjustInventory(petId: "P", by: 7)'],
    ['adjustInventories(input: [{ petId: "P", by: 2 }, { petId: "Q", by: 2 }])'],
    ['placeOrder(input: { petId: "P", quantity: 1 })'],
    ['placeOrder(input: { petId: "P", quantity: 1 }, idempotencyKey: "K")'],
    ['placeOrders(input: [{ petId: "P", quantity: 1 }, { petId: "Q", quantity: 2 }])'],
    ['completeOrder(id: "O")'],
    ['rescheduleOrder(id: "O", shipDate: "2100-01-01T00:00:00Z")'],
    ['cancelOrder(id: "O")'],
    ['cancelOrder(id: "O", idempotencyKey: "K2")'],
    ['deletePet(id: "N")'],
  ])('all changes of a mutation say who made them, and with which request: %s', async (call) => {
    const petId = await makePet(gateway, { name: 'Ida', stock: 10 });
    const ids: Record<string, string> = {
      P: petId,
      Q: await makePet(gateway, { stock: 10 }),
      N: await makePet(gateway),
      C: await makeCategory(gateway),
      O: await makeOrder(gateway, petId),
    };
    const mutation = call.replaceAll(/"([PQNCO])"/g, (_all, name: string) => `"${ids[name]}"`);
    let requestId: string | null = null;
    const changes = await changesOf(async () => {
      const query = `mutation Change_1 { ${mutation} { ${SELECTED} } }`;
      ({ requestId } = await send(query, 'alice'));
    });
    expect(changes.length).toBeGreaterThan(0);
    expect(requestId).toMatch(/^[\da-f-]{36}$/);
    for (const change of changes)
      expect(authorOf(change)).toEqual({ by: 'alice', requestId, operationName: 'Change_1' });
  });

  it('orders of several callers that share a statement are each in the name of its own caller', async () => {
    const callers = Array.from({ length: 8 }, (_none, index) => `caller ${index}`);
    const pets = await Promise.all(callers.map(() => makePet(gateway, { stock: 100 })));
    const all = () =>
      Promise.all(
        callers.map((sub, index) =>
          send(
            `mutation Place { placeOrder(input: { petId: "${pets[index]}", quantity: 1 }) { ${SELECTED} } }`,
            sub,
            { 'x-request-id': `of-${sub.replace(' ', '-')}` },
          ),
        ),
      );
    // Opens the connections, so that the requests then arrive at the same time.
    await all();
    gateway.statements.length = 0;
    const changes = await changesOf(async () => {
      await all();
      await all();
    });
    expect(gateway.statements.some((text) => text.includes('skip locked'))).toBe(true);
    expect(changes).toHaveLength(4 * callers.length);
    for (const change of changes) {
      const sub = callers[pets.indexOf(change.after?.petId ?? '')];
      const requestId = `of-${sub?.replace(' ', '-')}`;
      expect(authorOf(change)).toEqual({ by: sub, requestId, operationName: 'Place' });
    }
  });

  it('orders of several callers for the same two pets, some in one statement, are each in the name of their own caller', async () => {
    const callers = Array.from({ length: 8 }, (_none, index) => `caller-${index}`);
    const pets = [await makePet(gateway, { stock: 100 }), await makePet(gateway, { stock: 100 })];
    const all = () =>
      Promise.all(
        callers.map((sub, index) =>
          send(
            `mutation { placeOrder(input: { petId: "${pets[index % 2]}", quantity: ${index + 1} }) { ${SELECTED} } }`,
            sub,
          ),
        ),
      );
    await all();
    const after = await lastCursor(gateway);
    await all();
    await untilSettled(gateway.db);
    const { changes } = await gateway.data(
      `query ($after: String) { changes(after: $after, first: 100, filter: { types: [ORDER] }) {
        nodes { by ... on OrderChange { after { quantity } } } } }`,
      { after },
    );
    const found = changes.nodes.map((node: Author & { after: { quantity: number } }) => [
      node.after.quantity,
      node.by,
    ]);
    expect(Object.fromEntries(found)).toEqual(
      Object.fromEntries(callers.map((sub, index) => [index + 1, sub])),
    );
  });

  it('a mutation on a WebSocket says who made its changes', async () => {
    const client = createSocketClient(secured, {
      authorization: `${(await headersOf('wes')).authorization}`,
    });
    const query = `mutation Over { createCategory(input: { name: "Birds" }) { ${SELECTED} } }`;
    const [author] = await authorsOf(async () => {
      for await (const { errors } of client.iterate({ query })) expect(errors).toBeUndefined();
    });
    expect(author).toMatchObject({ by: 'wes', operationName: 'Over' });
    expect(author?.requestId).toMatch(/^[\da-f-]{36}:1$/);
  });

  it('the tool who_changed says who cancelled an order with another tool, and which one, to callers with the scope audit alone', async () => {
    const orderId = await makeOrder(gateway, await makePet(gateway, { stock: 1 }));
    const client = await connectClient(secured, { headers: await headersOf('an agent') });
    const cancelled = await callTool(client, 'cancel_order', {
      id: orderId,
      idempotencyKey: orderId,
    });
    expect(cancelled.error).toBeUndefined();
    await untilSettled(gateway.db);
    const { data } = await callTool(client, 'who_changed', { types: ['ORDER'] });
    expect(data.changes.nodes.at(-1)).toMatchObject({
      orderId,
      kind: 'DELETED',
      by: 'an agent',
      operationName: 'cancel_order',
      before: { quantity: 1, complete: false },
      after: null,
    });
    const other = await connectClient(secured, {
      headers: await headersOf('bob', 'read orders:write'),
    });
    const { tools } = await other.listTools();
    const names = tools.map(({ name }) => name);
    expect([names.includes('cancel_order'), names.includes('who_changed')]).toEqual([true, false]);
    await expect(callTool(other, 'who_changed', { types: ['ORDER'] })).rejects.toThrow('audit');
  });

  it('a request that is repeated with its idempotency key makes no change, so the first one is its author', async () => {
    const query = `mutation { createCategory(input: { name: "Ants" }, idempotencyKey: "ants") { ${SELECTED} } }`;
    const authors = await authorsOf(async () => {
      await send(query, 'alice', { 'x-request-id': 'first' });
      await send(query, 'alice', { 'x-request-id': 'second' });
    });
    expect(authors).toEqual([{ by: 'alice', requestId: 'first', operationName: null }]);
  });

  it('without tokens, changes have a request and an operation, but no caller', async () => {
    const query = `mutation Free { createCategory(input: { name: "Bees" }) { ${SELECTED} } }`;
    const headers = { 'x-request-id': '0af7651916cd43dd8448eb211c80319c' };
    const authors = await authorsOf(() => post(gateway, { query }, { headers }));
    expect(authors).toEqual([
      { by: null, requestId: '0af7651916cd43dd8448eb211c80319c', operationName: 'Free' },
    ]);
  });

  it('changes by SQL have no author, not even on a connection that a mutation used before', async () => {
    await send(`mutation { createCategory(input: { name: "Cows" }) { ${SELECTED} } }`, 'alice');
    const authors = await authorsOf(async () => {
      for (let count = 0; count < 20; count += 1) {
        await run(`insert into categories (name) values ('Dogs ${count}')`);
        await run(`update categories set description = 'Bark.' where name = 'Dogs ${count}'`);
      }
    });
    expect(authors).toEqual([NOBODY]);
  });

  it.each([
    String.raw`'; drop table orders; --`,
    String.raw`"},"by":"root" \' \\ $1 $$ %L`,
    ' a  b\n["x"] ',
    '["pet_id","1","x root"]',
    'Зоя 🐈‍⬛ \u0001\u2028',
    'é'.repeat(255),
    '\u0001'.repeat(255),
  ])('the subject of a caller is stored as it is: %j', async (sub) => {
    const petId = await makePet(gateway, { stock: 9 });
    const name = 'N'.repeat(200);
    const query = `mutation ${name} { placeOrder(input: { petId: "${petId}", quantity: 1 }) { ${SELECTED} } }`;
    const authors = await authorsOf(() => send(query, sub, { 'x-request-id': 'r:1.2_-' }));
    expect(authors).toEqual([{ by: sub, requestId: 'r:1.2_-', operationName: 'N'.repeat(100) }]);
  });

  it.each([
    '00000000-0000-0000-0000-000000000000',
    '0AF76519-16CD-43DD-8448-EB211C80319C',
    'a'.repeat(128),
  ])('the id of a request is stored as it is: %s', async (requestId) => {
    const query = `mutation { createCategory(input: { name: "Eels" }) { ${SELECTED} } }`;
    const authors = await authorsOf(() => send(query, 'al', { 'x-request-id': requestId }));
    expect(authors).toEqual([{ by: 'al', requestId, operationName: null }]);
  });

  describe('reading who made a change', () => {
    const QUERY = `{ changes(last: 1) { nodes { ...Who } } } fragment Who on OrderChange { by }`;
    const SUBSCRIPTION = 'subscription { categoryChanged { by } }';

    it.each([
      ['a query', QUERY],
      ['a query of an interface', '{ changes(last: 1) { edges { node { requestId } } } }'],
      [
        'a query that excludes it',
        '{ changes(last: 1) { nodes { operationName @skip(if: true) } } }',
      ],
      ['a subscription', SUBSCRIPTION],
    ])('requires the scope audit: %s', async (_name, query) => {
      const lacks = async (headers: Record<string, string>) => {
        const accept = 'application/json, text/event-stream';
        const response = await post(secured, { query }, { headers: { accept, ...headers } });
        return response.text();
      };
      expect(await lacks(await headersOf('bob', 'read'))).toContain('scope \\"audit\\"');
      expect(await lacks(await headersOf('bob', 'audit'))).toContain('scope \\"read\\"');
      expect(await lacks({})).toContain('UNAUTHENTICATED');
    });

    it('is possible in a subscription with the scope audit', async () => {
      const query = 'subscription { categoryChanged { by operationName after { name } } }';
      const headers = await headersOf('eve', 'read audit');
      const stream = await openUntilEnd(secured, query, { headers });
      await send(`mutation Make { createCategory(input: { name: "Fish" }) { ${SELECTED} } }`, 'al');
      await run(`insert into categories (name) values ('Geese')`);
      const made = { after: { name: 'Fish' }, by: 'al', operationName: 'Make' };
      expect(await stream.data()).toEqual({ categoryChanged: made });
      const inserted = { after: { name: 'Geese' }, by: null, operationName: null };
      expect(await stream.data()).toEqual({ categoryChanged: inserted });
    });
  });

  const AUTHOR = JSON.stringify({
    by: 'somebody',
    requestId: 'request',
    operationName: 'Operation',
  });
  const TEXT = `update categories set description = 'new' where name = 'Form'`;
  it.each([
    `insert into categories (name) values ('Form')`,
    TEXT,
    `delete from categories where name = 'Form'`,
    `WITH found AS (select id from categories) ${TEXT} and id in (select id from found)`,
    `with recursive number (n) as (select 1 union all select n + 1 from number where n < 3) ${TEXT}`,
    `with changed as (${TEXT} returning id), other as (select 1) select * from changed`,
    `\n -- with a comment\n /* and another */ ${TEXT}`,
    `merge into categories using (values ('Form')) as line (name) on line.name = categories.name
     when matched then update set description = 'new'`,
  ])('a statement of any form says who makes its changes: %s', async (text) => {
    await run(`insert into categories (name) values ('Form')`);
    const [author] = await authorsOf(() => gateway.db.write(raw(text), { who: AUTHOR }));
    expect(author).toEqual({ by: 'somebody', requestId: 'request', operationName: 'Operation' });
    await run(`delete from categories where name = 'Form'`);
  });

  it('a statement with parameters keeps their numbers', async () => {
    await run(`insert into categories (name) values ('Form')`);
    const [row] = await gateway.db.write<{ id: bigint; two: string }>(
      sql`update categories set description = ${'new'} where name = ${'Form'} returning ${'2'}::text as two`,
      { who: AUTHOR },
    );
    expect(row?.two).toBe('2');
  });

  it('a change is stored with its author although the statement has changed nothing in the row before it', async () => {
    await run(`insert into categories (name, description) values ('Same', 'new'), ('Same', 'old')`);
    const changes = await changesOf(() =>
      gateway.db.write(raw(`update categories set description = 'new' where name = 'Same'`), {
        who: AUTHOR,
      }),
    );
    expect(changes.map(({ by }) => by)).toEqual(['somebody']);
  });

  it("what an operator's triggers change in a mutation is changed in the name of its caller", async () => {
    const petId = await makePet(gateway, { stock: 9 });
    await run(`create function note() returns trigger language plpgsql as $$ begin
        insert into categories (name) values (tg_when || ' order'); return new; end $$`);
    await run(
      `create trigger after_order after insert on orders for each row execute function note()`,
    );
    const changes = await changesOf(() =>
      send(
        `mutation { placeOrder(input: { petId: "${petId}", quantity: 1 }) { ${SELECTED} } }`,
        'al',
      ),
    );
    await run(`drop function note cascade`);
    expect(changes.map(({ __typename: type, by }) => `${type} by ${by}`).toSorted()).toEqual([
      'CategoryChange by al',
      'InventoryItemChange by al',
      'OrderChange by al',
    ]);
  });

  it('the migration runs while gateways are connected: later changes have an author, and cursors stay valid', async () => {
    const make = `mutation { createCategory(input: { name: "New" }) { ${SELECTED} } }`;
    const [, triggers = ''] = (await migrationOf('20261124200000_changes_without_copies')).split(
      /^(?=DO )|(?<=\$do\$;)$/m,
    );
    const changes = await changesOf(async () => {
      await run(triggers);
      await send(make, 'al');
      const migration = await migrationOf('20261129180000_who_changed');
      for (const text of migration.split(/(?<=;)\n\n/)) await run(text);
      await send(make, 'al');
    });
    expect(changes.map(({ by }) => by)).toEqual([null, 'al']);
  });
});
