import { connect, type Socket } from 'node:net';

import sql from 'sql-template-tag';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { resolveFrom } from '../support/browsing.ts';
import { type Data, gateway, run, startGateway, useGateway } from '../support/gateway.ts';
import { makeCategory, makeOrder, makePet, mutate } from '../support/make.ts';
import { requestRaw } from '../support/raw.ts';
import { expectError } from '../support/rest.ts';

const readOrders = (response: Response): Promise<Data[]> => response.json();

const tagOf = async (path: string): Promise<string> => {
  const tag = (await requestRaw(gateway, 'GET', path)).headers.get('etag');
  expect(tag).toMatch(/^(W\/)?"[^"]+"$/);
  return tag ?? '';
};

/** Creates orders of one unit, two units, and so on, but the table does not store them in this order. */
const fillOrders = async (count: number): Promise<void> => {
  const petId = BigInt(await makePet(gateway));
  await gateway.db.write(sql`
    insert into orders (pet_id, quantity) select ${petId}, generate_series(1, ${count}::integer)`);
  // PostgreSQL stores an updated row behind the other rows.
  await run(`update orders set complete = true where quantity % 2 = 0`);
};

const createOrdersView = (quantity: string): Promise<unknown> =>
  run(`
    create view orders as select id::bigint, 1::bigint as pet_id, ${quantity} as quantity,
      null::timestamptz as ship_date, false as complete
    from generate_series(1, 20000) as id`);

function requestOrders(): Socket {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  socket.write('GET /store/orders HTTP/1.1\r\nHost: localhost\r\n\r\n');
  return socket;
}

useGateway();
describe('GET /pets/{petId}', () => {
  it('returns id, name, categoryId and lowercase status, with ids as JSON integers', async () => {
    const name = ' "Zoë" \\ \n\t\u0001 🐈 \u2028 </script>';
    const categoryId = await makeCategory(gateway);
    const id = await makePet(gateway, { name, categoryId, status: 'PENDING' });
    const response = await gateway.rest(`/pets/${id}`);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    expect(await response.json()).toEqual({
      id: Number(id),
      name,
      categoryId: Number(categoryId),
      status: 'pending',
    });
  });

  it('returns an id beyond 2^53 exactly, as GraphQL does', async () => {
    const categoryId = await makeCategory(gateway);
    await gateway.db.write(sql`insert into pets (id, name, category_id)
        overriding system value values (9007199254740993, 'Far', ${categoryId}::bigint)`);
    const response = await gateway.rest('/pets/9007199254740993');
    expect(await response.text()).toContain('"id":9007199254740993,');
    const { pet } = await gateway.data('{ pet(id: "9007199254740993") { id } }');
    expect(pet.id).toBe('9007199254740993');
  });

  it.each([
    ['abc', 400, 'INVALID_ID'],
    ['1%00', 400, 'INVALID_ID'],
    ['%EF%BC%91', 400, 'INVALID_ID'],
    ['9223372036854775808', 400, 'INVALID_ID'],
    ['9223372036854775807', 404, 'PET_NOT_FOUND'],
    ['0', 404, 'PET_NOT_FOUND'],
  ])('returns an error for the id %s: %i %s', async (id, status, code) => {
    expectError(await requestRaw(gateway, 'GET', `/pets/${id}`), status, code);
  });
});

describe('the ETag of a pet', () => {
  it('causes a 304 without a body if If-None-Match has it', async () => {
    const path = `/pets/${await makePet(gateway)}`;
    const tag = await tagOf(path);
    const headers = { 'If-None-Match': `"other", ${tag}` };
    const response = await requestRaw(gateway, 'GET', path, headers);
    expect(response).toMatchObject({ status: 304, body: '' });
    expect(response.headers.get('etag')).toBe(tag);
    expect((await requestRaw(gateway, 'HEAD', path, headers)).status).toBe(304);
    // fetch adds Cache-Control: no-cache, which must not prevent a 304.
    expect((await gateway.rest(path, { headers })).status).toBe(304);
  });

  it('changes only when the pet changes', async () => {
    const id = await makePet(gateway);
    const before = await tagOf(`/pets/${id}`);
    expect(await tagOf(`/pets/${id}`)).toBe(before);
    await mutate(gateway, 'updatePet', { id, input: { status: 'SOLD' } });
    const response = await requestRaw(gateway, 'GET', `/pets/${id}`, { 'If-None-Match': before });
    expect(response.status).toBe(200);
    expect(await tagOf(`/pets/${id}`)).not.toBe(before);
  });

  it('is not sent with an error, and If-None-Match: * does not turn the error into a 304', async () => {
    const response = await requestRaw(gateway, 'GET', '/pets/999999', { 'If-None-Match': '*' });
    expectError(response, 404, 'PET_NOT_FOUND');
    expect(response.headers.get('etag')).toBeNull();
  });
});

describe('GET /store/orders', () => {
  beforeEach(() => run(`delete from orders`));

  it('returns an error, rather than leave out an order, if the database has no quantity for it', async () => {
    await fillOrders(2);
    await run('alter table orders alter quantity drop not null');
    await run('update orders set quantity = null where quantity = 1');
    const response = await requestRaw(gateway, 'GET', '/store/orders?limit=5');
    expectError(response, 500, 'INTERNAL_SERVER_ERROR');
    expect(gateway.loggedErrors.splice(0)).toHaveLength(1);
    await run('delete from orders');
    await run('alter table orders alter quantity set not null');
  });

  it.each([
    [0, 1],
    [1000, 1],
    [2500, 3],
  ])(
    'returns %i orders as one array, sorted by id (SQL statements: %i)',
    async (count, statements) => {
      await fillOrders(count);
      gateway.statements.length = 0;
      const response = await gateway.rest('/store/orders');
      const orders = await readOrders(response);
      expect(orders.map(({ quantity }) => quantity)).toEqual(
        Array.from({ length: count }, (_, index) => index + 1),
      );
      expect(response.headers.get('link')).not.toContain('rel="next"');
      expect(gateway.statements).toHaveLength(statements);
    },
  );

  it('omits a missing ship date, and returns ship dates in UTC with milliseconds', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const bare = await makeOrder(gateway, petId, { quantity: 2 });
    const dated = await makeOrder(gateway, petId, {
      shipDate: '2100-01-15T09:00:00+01:00',
      complete: true,
    });
    for (const path of ['/store/orders', '/store/orders?limit=9']) {
      expect(await readOrders(await gateway.rest(path))).toEqual([
        { id: Number(bare), petId: Number(petId), quantity: 2, complete: false },
        {
          id: Number(dated),
          petId: Number(petId),
          quantity: 1,
          shipDate: '2100-01-15T08:00:00.000Z',
          complete: true,
        },
      ]);
    }
  });

  it('returns ids beyond 2^53 exactly, and accepts them in `after`', async () => {
    const petId = await makePet(gateway);
    await gateway.db.write(sql`insert into orders (id, pet_id, quantity) overriding system value
        select id, ${petId}::bigint, 1 from unnest(array[9007199254740993, 9007199254740995]) as id`);
    const response = await gateway.rest('/store/orders?limit=1');
    expect(await response.text()).toContain('"id":9007199254740993,');
    expect(response.headers.get('link')).toContain('after=9007199254740993>');
    const rest = await gateway.rest('/store/orders?after=9007199254740993');
    expect(await rest.text()).toMatch(/^\[\{"id":9007199254740995,/);
  });

  it('returns each order once to a client that follows the links', async () => {
    await fillOrders(20);
    const seen: number[] = [];
    // The links also work below a slash at the end of the path.
    let path: string | undefined = '/store/orders/?limit=5';
    let pages = 0;
    while (path) {
      const response: Response = await gateway.rest(path);
      seen.push(...(await readOrders(response)).map(({ quantity }) => quantity));
      const [, next] = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
      path = next && resolveFrom(path, next);
      pages += 1;
    }
    expect(seen).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect(pages).toBe(4);
  });

  it('returns a page of 1,000 orders for limit=1000, or if only `after` is given', async () => {
    await fillOrders(1005);
    for (const query of ['after=0', 'limit=1000']) {
      const response = await gateway.rest(`/store/orders?${query}`);
      expect(await readOrders(response)).toHaveLength(1000);
      expect(response.headers.get('link')).toContain('limit=1000&');
    }
    const end = await gateway.rest('/store/orders?after=9223372036854775807');
    expect(await end.text()).toBe('[]');
  });

  it('returns valid JSON with the first 1,000 orders if all later orders are deleted before they are read', async () => {
    await fillOrders(1001);
    const { db } = gateway;
    let pages = 0;
    const meanwhile = await startGateway({}, async () => ({
      ...db,
      query: async (...asked) => {
        pages += 1;
        if (pages === 2) await db.write(sql`delete from orders where quantity > 1000`);
        return db.query(...asked);
      },
      close: async () => {},
    }));
    expect(await readOrders(await meanwhile.rest('/store/orders'))).toHaveLength(1000);
    expect(pages).toBe(2);
    await meanwhile.close();
  });

  it.each([
    ['page=7', '"page"'],
    ['limit=1&limi=1', '"limi"'],
    ['__proto__=1', '"__proto__"'],
    ['limit=1&limit=2', 'limit: '],
    ['limit=0', 'limit: '],
    ['limit=1001', 'limit: '],
    ['limit=1e2', 'limit: '],
    ['after=abc', 'after: ', 'INVALID_ID'],
    ['limit=5&after=9223372036854775808', 'after: ', 'INVALID_ID'],
  ])('rejects ?%s with the name of the parameter', async (query, name, code = 'INVALID_INPUT') => {
    const path = `/store/orders?${query}`;
    const response = await requestRaw(gateway, 'GET', path);
    expectError(response, 400, code);
    expect(JSON.parse(response.body).message).toContain(name);
    expect((await requestRaw(gateway, 'HEAD', path)).status).toBe(400);
  });
});

describe('a long response to GET /store/orders', () => {
  beforeAll(() => run(`alter table orders rename to all_orders`));
  afterEach(() => run(`drop view orders`));
  afterAll(() => run(`alter table all_orders rename to orders`));

  it('is no longer read from the database after the client has disconnected', async () => {
    await createOrdersView('1');
    const socket = requestOrders();
    await new Promise((resolve) => void socket.once('data', resolve));
    socket.destroy();
    const before = gateway.statements.length;
    // During these requests, the gateway could read many pages.
    for (let turn = 0; turn < 10; turn += 1) await gateway.rest('/pets/1');
    const pages = gateway.statements.slice(before).filter((text) => text.includes('orders'));
    expect(pages.length).toBeLessThan(4);
    expect((await gateway.rest('/store/orders?limit=1')).status).toBe(200);
  });

  it.each(['gzip', 'identity'])(
    'is cut off if the database fails, so that it cannot look complete: %s',
    async (encoding) => {
      await run(`
      create or replace function fail_late(id integer) returns integer language plpgsql stable as
      'begin if id > 1500 then raise exception ''broken disk''; end if; return 1; end'`);
      await createOrdersView('fail_late(id)');
      const headers = { 'Accept-Encoding': encoding };
      const text = gateway.rest('/store/orders', { headers }).then((response) => response.text());
      // If the response is gzipped, not even its headers have been sent.
      await expect(text).rejects.toThrow(/terminated|fetch failed/);
      expect(gateway.loggedErrors.splice(0)).toHaveLength(1);
      expect((await gateway.rest('/store/orders?limit=1')).status).toBe(200);
    },
  );
});
