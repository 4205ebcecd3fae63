import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { Prisma } from '../../../src/database/generated/prisma/client.ts';
import { openPostgres } from '../../../src/database/postgres.ts';
import { schema } from '../../../src/graphql/schema.ts';
import { copyOnPostgres } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { makeCategory, makeOrder, makePet } from '../../support/make.ts';
import { runSql } from '../../support/postgres.ts';
import { send } from '../../support/replicated-gateway.ts';

/** Whether PostgreSQL gets the statement whose connection is lost. */
type Loss = 'its answer' | 'the statement';

/** Closes a connection at a statement, once. */
interface Proxy {
  readonly port: number;
  /**
   * Closes the connection that sends a text or a match: before PostgreSQL gets it, or after it has answered. With a
   * severity, an error is sent before, as poolers do.
   */
  readonly lose: (lost: Loss, text: string | RegExp, severity?: string) => void;
  /** Whether a connection was closed. */
  readonly hasLost: () => boolean;
  readonly close: () => void;
}

const ignore = (): void => {};

/** Returns the message of a pooler whose server is lost. */
function lostServer(severity: string): Buffer {
  const fields = `S${severity}\0C08006\0Mserver lost\0\0`;
  const message = Buffer.from(`E....${fields}`);
  message.writeInt32BE(message.length - 1, 1);
  return message;
}

async function startProxy(port: number): Promise<Proxy> {
  let next: { lost: Loss; text: string | RegExp; severity?: string | undefined } | undefined;
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    let loses = false;
    let error: Buffer | undefined;
    client.on('data', (chunk) => {
      if (next && chunk.toString('latin1').search(next.text) >= 0) {
        const { lost, severity } = next;
        next = undefined;
        error = severity === undefined ? undefined : lostServer(severity);
        if (lost === 'the statement') {
          end();
          return;
        }
        loses = true;
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (!loses) client.write(chunk);
      else if (error) client.end(error, end);
      else end();
    });
    client.on('close', end).on('error', ignore);
    upstream.on('close', end).on('error', ignore);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    lose: (lost, text, severity) => {
      next = { lost, text, severity };
    },
    hasLost: () => next === undefined,
    close: () => server.close(),
  };
}

let database: Awaited<ReturnType<typeof copyOnPostgres>>;
let proxy: Proxy;
let direct: Gateway;
let gateway: Gateway;
let petId: string;

const startOn = (url: string): Promise<Gateway> =>
  startGateway({ POOL_SIZE: '1' }, (config, log) => openPostgres(url, config, log));

beforeAll(async () => {
  database = await copyOnPostgres();
  proxy = await startProxy(Number(new URL(database.url).port));
  direct = await startOn(database.url);
});
// Each test has new connections: the text of a statement is sent once on each.
beforeEach(async () => {
  const url = new URL(database.url);
  url.port = String(proxy.port);
  gateway = await startOn(url.href);
  petId = await makePet(direct, { name: 'Old', stock: 10 });
});
afterEach(() => gateway.close());
afterAll(async () => {
  await direct.close();
  proxy.close();
  await database.drop();
});

/** Sends an operation; the connection is lost at a text that one of its statements has. */
async function sendAndLose(operation: string, lost: Loss, text: string | RegExp) {
  proxy.lose(lost, text);
  const answer = await send(gateway, operation);
  expect(proxy.hasLost()).toBe(true);
  return answer;
}

/** Expects that the log has a line for a response, with what happened to its connection. */
function expectLogged(): void {
  const lost = expect.objectContaining({ message: expect.stringMatching(/terminated|ECONNRESET/) });
  const lines = gateway.loggedErrors.splice(0) as { err: Error }[];
  expect(lines).toHaveLength(1);
  const { err } = lines[0] ?? {};
  expect([err, err?.cause]).toContainEqual(lost);
}

/** What the store has of the pet. */
async function stored(): Promise<unknown> {
  const [row] = await runSql(
    database.url,
    `select name, quantity, (select count(*)::int from orders where pet_id = ${petId}) as orders
     from pets join inventory_items on pet_id = pets.id where pets.id = ${petId}`,
  );
  return row;
}

const BEFORE = { name: 'Old', quantity: 10, orders: 0 };

const order = (key?: string): string => {
  const argument = key === undefined ? '' : `, idempotencyKey: "${key}"`;
  return `mutation { placeOrder(input: { petId: "${petId}", quantity: 1 }${argument}) {
    ... on Order { id } ... on Error { code } } }`;
};
const adjust = (key?: string): string => {
  const argument = key === undefined ? '' : `, idempotencyKey: "${key}"`;
  return `mutation { adjustInventory(petId: "${petId}", by: -1${argument}) {
    ... on InventoryItem { quantity } ... on Error { code } } }`;
};
const rename = (): string => `mutation { updatePet(id: "${petId}", input: { name: "New" }) {
  ... on Pet { name } ... on Error { code } } }`;

const WRITES = [
  ['placeOrder', () => order(), 'insert into orders', { quantity: 9, orders: 1 }],
  ['adjustInventory', () => adjust(), 'inventory_items', { quantity: 9 }],
  ['updatePet', rename, 'UPDATE', { name: 'New' }],
] as const;

// Each mutation once for each of its statements.
const MUTATIONS: [name: string, args: () => string | Promise<string>][] = [
  ['createCategory', () => 'input: { name: "New" }'],
  ['updateCategory', async () => `id: "${await makeCategory(direct)}", input: { name: "New" }`],
  ['deleteCategory', async () => `id: "${await makeCategory(direct)}"`],
  ['createPet', async () => `input: { name: "New", categoryId: "${await makeCategory(direct)}" }`],
  [
    'createPet',
    async () => `input: { name: "New", categoryId: "${await makeCategory(direct)}", quantity: 1 }`,
  ],
  ['updatePet', () => `id: "${petId}", input: { name: "New" }`],
  ['deletePet', async () => `id: "${await makePet(direct)}"`],
  ['updateInventory', () => `petId: "${petId}", input: { quantity: 1 }`],
  ['updateInventory', () => `petId: "${petId}", input: { quantity: 1 }, expectedQuantity: 10`],
  ['adjustInventory', () => `petId: "${petId}", by: 1`],
  ['adjustInventory', () => `petId: "${petId}", by: -1`],
  ['placeOrder', () => `input: { petId: "${petId}", quantity: 1 }`],
  ['placeOrders', () => `input: [{ petId: "${petId}", quantity: 1 }]`],
  ['rescheduleOrder', async () => `id: "${await makeOrder(direct, petId)}", shipDate: null`],
  ['completeOrder', async () => `id: "${await makeOrder(direct, petId)}"`],
  ['cancelOrder', async () => `id: "${await makeOrder(direct, petId)}"`],
];
const WRITING = /\b(insert into|update|delete from)\s/i;

it('every mutation is in the table of mutations', () => {
  const fields = Object.keys(schema.getMutationType()?.getFields() ?? {});
  expect(new Set(MUTATIONS.map(([name]) => name))).toEqual(new Set(fields));
});

describe('a write whose connection is lost before PostgreSQL has answered', () => {
  it.each(MUTATIONS)('is OUTCOME_UNKNOWN: %s', async (name, args) => {
    const mutation = `mutation { ${name}(${await args()}) { ... on Error { code } } }`;
    const { data, code } = await sendAndLose(mutation, 'its answer', WRITING);
    expect([data, code]).toEqual([{ [name]: null }, 'OUTCOME_UNKNOWN']);
    expectLogged();
  });

  it.each(WRITES)('may be done: %s', async (field, mutation, text, change) => {
    const { status, data, code, retryAfter } = await sendAndLose(mutation(), 'its answer', text);
    expect([status, data, code]).toEqual([200, { [field]: null }, 'OUTCOME_UNKNOWN']);
    // It must not be sent again without thinking.
    expect(retryAfter).toBeNull();
    expectLogged();
    expect(await stored()).toEqual({ ...BEFORE, ...change });
  });

  it.each(WRITES)('may not be done: %s', async (_field, mutation, text) => {
    const { code } = await sendAndLose(mutation(), 'the statement', text);
    expect(code).toBe('OUTCOME_UNKNOWN');
    expectLogged();
    expect(await stored()).toEqual(BEFORE);
  });

  it.each(['its answer', 'the statement'] as const)(
    'is done once if it is sent again with its key: COMMIT without %s',
    async (lost) => {
      for (const write of [order, adjust]) {
        const mutation = write(`${lost} ${petId} ${write.name}`);
        const { code, retryAfter } = await sendAndLose(mutation, lost, 'COMMIT');
        expect([code, retryAfter]).toEqual(['OUTCOME_UNKNOWN', null]);
        expectLogged();
        const again = await gateway.data(mutation);
        expect(await gateway.data(mutation)).toEqual(again);
      }
      expect(await stored()).toEqual({ ...BEFORE, quantity: 8, orders: 1 });
    },
  );
});

// Some poolers report it as an ERROR, and PostgreSQL translates the severity.
describe.each(['FATAL', 'ERROR', 'FEHLER'])(
  'a server that a pooler reports as lost: %s',
  (severity) => {
    it.each(WRITES)('may have done a write: %s', async (_field, mutation, text, change) => {
      proxy.lose('its answer', text, severity);
      expect((await send(gateway, mutation())).code).toBe('OUTCOME_UNKNOWN');
      expect(gateway.loggedErrors.splice(0)).toHaveLength(1);
      expect(await stored()).toEqual({ ...BEFORE, ...change });
    });

    it('may have placed orders that arrived at once, and none is placed again', async () => {
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
      // On new connections, the requests would arrive one after the other.
      await Promise.all(petIds.map(() => place('999999')));
      proxy.lose('its answer', 'skip locked', severity);
      const codes = await Promise.all(petIds.map(place));
      expect(proxy.hasLost()).toBe(true);
      expect(codes).toContain('OUTCOME_UNKNOWN');
      gateway.loggedErrors.length = 0;
      const [row] = await runSql(
        database.url,
        `select count(*)::int as orders, sum(quantity)::int as units from orders
       where pet_id in (${petIds.join(', ')})`,
      );
      expect(row).toEqual({ orders: 6, units: 6 });
    });
  },
);

describe('a write whose connection is lost before it can be done', () => {
  const STATEMENTS = ['BEGIN', 'insert into idempotency_keys', 'insert into orders'];
  it.each(
    STATEMENTS.flatMap((text) => [[text, 'its answer'] as const, [text, 'the statement'] as const]),
  )('is not done, and can be sent again: %s without %s', async (text, lost) => {
    const mutation = order(`${text} ${lost} ${petId}`);
    const { status, data, code, retryAfter } = await sendAndLose(mutation, lost, text);
    expect([status, data, code]).toEqual([200, { placeOrder: null }, 'SERVICE_UNAVAILABLE']);
    expect(retryAfter).toBe('1');
    expectLogged();
    expect(await stored()).toEqual(BEFORE);
    const again = await gateway.data(mutation);
    expect(again.placeOrder.id).toMatch(/^\d+$/);
    expect(await stored()).toEqual({ ...BEFORE, quantity: 9, orders: 1 });
  });

  it.each(WRITES)('is not done if the connection is new: %s', async (field, mutation) => {
    const { data, code, retryAfter } = await sendAndLose(
      mutation(),
      'the statement',
      'SET statement_timeout',
    );
    expect([data, code, retryAfter]).toEqual([{ [field]: null }, 'SERVICE_UNAVAILABLE', '1']);
    expectLogged();
    expect(await stored()).toEqual(BEFORE);
    await gateway.data(mutation());
  });
});

describe('with several servers', () => {
  beforeEach(async () => {
    await gateway.close();
    const { href, host } = new URL(database.url);
    gateway = await startOn(href.replace(host, `127.0.0.1:${proxy.port},127.0.0.1:1`));
  });

  it.each(WRITES)(
    'a write whose connection is lost before the answer is not tried again: %s',
    async (_field, mutation, text, change) => {
      const { code, retryAfter } = await sendAndLose(mutation(), 'its answer', text);
      expect([code, retryAfter]).toEqual(['OUTCOME_UNKNOWN', null]);
      expectLogged();
      expect(await stored()).toEqual({ ...BEFORE, ...change });
    },
  );

  it.each(['BEGIN', 'insert into idempotency_keys', 'insert into orders'])(
    'a write whose connection is lost before it can be done is tried again: %s',
    async (text) => {
      const { data, code } = await sendAndLose(order(`${text} ${petId}`), 'its answer', text);
      expect([data.placeOrder.id, code]).toEqual([expect.stringMatching(/^\d+$/), undefined]);
      expect(await stored()).toEqual({ ...BEFORE, quantity: 9, orders: 1 });
    },
  );
});

it.each(['its answer', 'the statement'] as const)(
  'a query whose connection is lost can be sent again: without %s',
  async (lost) => {
    const query = `{ pet(id: "${petId}") { name } }`;
    const { code, retryAfter } = await sendAndLose(query, lost, 'from pets');
    expect([code, retryAfter]).toEqual(['SERVICE_UNAVAILABLE', '1']);
    expectLogged();
    expect(await gateway.data(query)).toEqual({ pet: { name: 'Old' } });
  },
);

describe.each(['query', 'write'] as const)('a statement that begins with WITH: db.%s', (method) => {
  it('is judged by what its caller says of it, not by its text', async () => {
    proxy.lose('the statement', 'with found as');
    const running = gateway.db[method](Prisma.sql`with found as (select 1) select * from found`);
    const code = method === 'query' ? 'SERVICE_UNAVAILABLE' : 'OUTCOME_UNKNOWN';
    await expect(running).rejects.toMatchObject({ code });
    expect(proxy.hasLost()).toBe(true);
  });
});
