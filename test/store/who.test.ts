import { readFile } from 'node:fs/promises';

import { raw } from 'sql-template-tag';
import { describe, expect, it } from 'vitest';

import { makeArguments, MUTATIONS } from '../support/crud.ts';
import {
  countShared,
  type Data,
  gateway,
  postOperation,
  run,
  useGateway,
  useOther,
} from '../support/gateway.ts';
import { createSocketClient, openUntilEnd } from '../support/live.ts';
import { makeOrder, makePet } from '../support/make.ts';
import { callTool, connectClient } from '../support/mcp.ts';
import { post } from '../support/post.ts';
import { lastCursor, untilSettled } from '../support/settled.ts';
import { AUTH_BY_SECRET, bearing, mint } from '../support/tokens.ts';

const migrationOf = (name: string): Promise<string> =>
  readFile(`prisma/migrations/${name}/migration.sql`, 'utf8');

const ALL = 'read pets:write inventory:write orders:write audit';
const headersOf = async (sub: string, scope = ALL) => bearing(await mint({ sub, scope }));

const NOBODY = { by: null, requestId: null, operationName: null };

const authorOf = ({ by, requestId, operationName }: Data) => ({ by, requestId, operationName });

const CHANGES = `query ($after: String) { changes(after: $after, first: 100) { nodes {
  __typename kind by requestId operationName
  ... on OrderChange { before { quantity } after { quantity } }
  ... on InventoryItemChange { before { quantity } after { quantity } } } } }`;

/** Returns the changes that `write` makes, read without tokens. */
async function changesOf(write: () => Promise<unknown>): Promise<Data[]> {
  const after = await lastCursor(gateway);
  await write();
  await untilSettled(gateway.db);
  return (await gateway.data(CHANGES, { after })).changes.nodes;
}

/** Returns who made the changes of `write`, each author once. */
async function authorsOf(write: () => Promise<unknown>): Promise<Data[]> {
  const authors = (await changesOf(write)).map((change) => JSON.stringify(authorOf(change)));
  return Array.from(new Set(authors), (author) => JSON.parse(author));
}

const SELECTED = '__typename ... on Error { code message }';

useGateway();

const secured = useOther({ ...AUTH_BY_SECRET, MCP_OPERATIONS: 'src/store/tools' });

/** Sends an operation as a caller, and returns the id of the request. */
async function send(query: string, sub: string, more: Record<string, string> = {}) {
  const sent = { ...(await headersOf(sub)), ...more };
  const { data, errors, headers } = await postOperation(secured, { query }, sent);
  expect(errors).toBeUndefined();
  expect(JSON.stringify(data)).not.toContain('"code"');
  return headers.get('x-request-id');
}

it('all changes of a mutation say who made them, and with which request', async () => {
  const calls: string[] = [];
  for (const [index, name] of MUTATIONS.entries()) {
    const { args } = await makeArguments(gateway, name);
    const key = index % 2 === 0 ? `, idempotencyKey: "${name}"` : '';
    calls.push(`${name}(${args}${key})`);
  }
  const sent: unknown[] = [];
  const found = await authorsOf(async () => {
    for (const [index, call] of calls.entries()) {
      const operationName = `Change_${index}`;
      const query = `mutation ${operationName} { ${call} { ${SELECTED} } }`;
      sent.push({ by: 'alice', requestId: await send(query, 'alice'), operationName });
    }
  });
  expect(found).toEqual(sent);
});

it.each([8, 2])(
  'orders of several callers that share a statement are each in the name of its own caller: for %i pets',
  async (count) => {
    const callers = Array.from({ length: 8 }, (_none, index) => `caller-${index}`);
    const pets = await Promise.all(
      Array.from({ length: count }, () => makePet(gateway, { stock: 100 })),
    );
    const all = () =>
      Promise.all(
        callers.map((sub, index) =>
          send(
            `mutation Place { placeOrder(input: { petId: "${pets[index % count]}", quantity: ${index + 1} }) { ${SELECTED} } }`,
            sub,
            { 'x-request-id': `of-${sub}` },
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
    expect(countShared()).toBeGreaterThan(0);
    const authorOfOrder = (quantity: number) => {
      const by = callers[quantity - 1];
      return { by, requestId: `of-${by}`, operationName: 'Place' };
    };
    const units = changes.map(
      ({ __typename: type, before, after }) =>
        (type === 'OrderChange' ? 0 : (before?.quantity ?? 0)) - (after?.quantity ?? 0),
    );
    expect(changes.map(authorOf)).toEqual(units.map((unit) => authorOfOrder(Math.abs(unit))));
    expect(changes).toHaveLength(4 * callers.length);
  },
);

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

it('the subject of a caller and the id of a request are stored as they are, alone and in a shared statement', async () => {
  const ids = {
    'r:1.2_-': String.raw`'; drop table orders; --`,
    '00000000-0000-0000-0000-000000000000': String.raw`"},"by":"root" \' \\ $1 $$ %L`,
    '0AF76519-16CD-43DD-8448-EB211C80319C': ' a  b\n["x"] ',
    ['a'.repeat(128)]: '["pet_id","1","x root"]',
    r: 'Зоя 🐈‍⬛ \u0001\u2028',
    s: 'é'.repeat(255),
    t: '\u0001'.repeat(255),
  };
  const sends = await Promise.all(
    Object.entries(ids).map(async ([requestId, by]) => {
      const petId = await makePet(gateway, { stock: 9 });
      const query = `mutation ${'N'.repeat(200)} { placeOrder(input: { petId: "${petId}", quantity: 1 }) { ${SELECTED} } }`;
      return {
        author: { by, requestId, operationName: 'N'.repeat(100) },
        send: () => send(query, by, { 'x-request-id': requestId }),
      };
    }),
  );
  const expected = sends.map(({ author }) => author);
  const alone = await authorsOf(async () => {
    for (const one of sends) await one.send();
  });
  expect(alone).toEqual(expected);
  const shared = await authorsOf(() => Promise.all(sends.map((one) => one.send())));
  expect(new Set(shared)).toEqual(new Set(expected));
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

it("what an operator's triggers change in a statement that callers share is in no other caller's name", async () => {
  const callers = ['ann', 'bob', 'cem', 'dot'];
  const pets = await Promise.all(callers.map(() => makePet(gateway, { stock: 100 })));
  const [first = '', ...others] = pets;
  await run(`create function reserve() returns trigger language plpgsql as $$ begin
        update inventory_items set quantity = quantity - 20 where pet_id in (${others.join()}); return new; end $$`);
  await run(`create trigger after_order after insert on orders for each row
        when (new.pet_id = ${first}) execute function reserve()`);
  const all = () =>
    Promise.all(
      callers.map((sub, index) =>
        send(
          `mutation { placeOrder(input: { petId: "${pets[index]}", quantity: 1 }) { ${SELECTED} } }`,
          sub,
        ),
      ),
    );
  await all();
  gateway.statements.length = 0;
  const after = await lastCursor(gateway);
  await all();
  expect(countShared()).toBeGreaterThan(0);
  await untilSettled(gateway.db);
  const { changes } = await gateway.data(
    `query ($after: String) { changes(after: $after, first: 100, filter: { types: [INVENTORY_ITEM] }) {
        nodes { by ... on InventoryItemChange { petId before { quantity } after { quantity } } } } }`,
    { after },
  );
  await run(`drop function reserve cascade`);
  const made: Data[] = changes.nodes;
  const reserved = made.filter(({ before, after: now }) => before.quantity - now.quantity === 20);
  expect(reserved).toHaveLength(others.length);
  for (const { by } of reserved) expect([null, 'ann']).toContain(by);
  const ordered = made.filter((change) => !reserved.includes(change));
  for (const { by, petId } of ordered) expect(by).toBe(callers[pets.indexOf(petId)]);
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
