import { connect } from 'node:net';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { describeOnBothDatabases } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { makeCategory, makeOrder, makePet } from '../support/make.ts';
import { requestRaw } from '../support/raw.ts';
import { expectError } from '../support/rest.ts';

let gateway: Gateway;

interface RestOrder {
  id: number;
  petId: number;
  quantity: number;
  shipDate?: string;
  complete: boolean;
}

const readOrders = async (response: Response): Promise<RestOrder[]> =>
  (await response.json()) as RestOrder[];

const tagOf = async (path: string): Promise<string> => {
  const tag = (await requestRaw(gateway, 'GET', path)).headers.get('etag');
  expect(tag).toMatch(/^(W\/)?"[^"]+"$/);
  return tag ?? '';
};

/** Creates orders of one unit, two units, and so on. */
const fillOrders = async (count: number): Promise<void> => {
  const petId = BigInt(await makePet(gateway));
  await gateway.db.prisma.$executeRaw`
    insert into orders (pet_id, quantity) select ${petId}, generate_series(1, ${count}::integer)`;
};

/** Creates a long list of orders in place of the table. */
const createOrdersView = (quantity: string): Promise<unknown> =>
  gateway.db.prisma.$executeRawUnsafe(`
    create view orders as select id::bigint, 1::bigint as pet_id, ${quantity} as quantity,
      null::timestamptz as ship_date, false as complete
    from generate_series(1, 20000) as id`);

describeOnBothDatabases(() => {
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());

  describe('reading a pet', () => {
    it('returns id, name, categoryId and status, with ids as JSON integers', async () => {
      const categoryId = await makeCategory(gateway);
      const id = await makePet(gateway, { name: 'Nemo', categoryId, status: 'SOLD' });
      const response = await gateway.rest(`/pets/${id}`);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toMatch(/^application\/json/);
      expect(await response.json()).toEqual({
        id: Number(id),
        name: 'Nemo',
        categoryId: Number(categoryId),
        status: 'sold',
      });
    });

    it('returns an id beyond 2^53 exactly, as GraphQL does', async () => {
      const categoryId = await makeCategory(gateway);
      await gateway.db.prisma.pet.create({
        data: { id: 9007199254740993n, name: 'Far', categoryId: BigInt(categoryId) },
      });
      const response = await gateway.rest('/pets/9007199254740993');
      expect(await response.text()).toContain('"id":9007199254740993,');
      const { pet } = await gateway.data('{ pet(id: "9007199254740993") { id } }');
      expect(pet.id).toBe('9007199254740993');
    });

    it.each(['available', 'pending', 'sold'])('returns the status %s in lower case', async (s) => {
      const status = s.toUpperCase() as 'AVAILABLE' | 'PENDING' | 'SOLD';
      const id = await makePet(gateway, { status });
      expect(await (await gateway.rest(`/pets/${id}`)).json()).toMatchObject({ status: s });
    });

    it('returns any name as valid JSON', async () => {
      const name = ' "Zoë" \\ \n\t\u0001 🐈 \u2028 </script>';
      const id = await makePet(gateway, { name });
      expect(await (await gateway.rest(`/pets/${id}`)).json()).toMatchObject({ name });
    });

    it('accepts leading zeros and percent-encoded digits', async () => {
      const id = await makePet(gateway);
      for (const path of [id.padStart(19, '0'), id.replaceAll(/\d/g, '%3$&')]) {
        const response = await gateway.rest(`/pets/${path}`);
        expect(await response.json()).toMatchObject({ id: Number(id) });
      }
    });

    it('ignores query parameters, such as those that old callers send against caches', async () => {
      const id = await makePet(gateway);
      const response = await gateway.rest(`/pets/${id}?_=1793491200&limit=1`);
      expect(await response.json()).toMatchObject({ id: Number(id) });
    });

    it.each([
      'abc',
      '-1',
      '+1',
      '1.0',
      '1e3',
      '0x10',
      '1n',
      'null',
      '%20',
      '1%20',
      '%201',
      '1%0A',
      '%00',
      '1%00',
      '%zz',
      '%',
      '%c3%28',
      '%D9%A3',
      '%EF%BC%91',
      '..%2f1',
      '1%2F2',
      '1;drop',
      "'",
      '1,2',
      '9223372036854775808',
      '99999999999999999999',
      '00000000000000000001',
      '1'.repeat(5000),
      'constructor',
      '__proto__',
    ])('returns INVALID_ID for /pets/%s', async (id) => {
      expectError(await requestRaw(gateway, 'GET', `/pets/${id}`), 400, 'INVALID_ID');
    });

    it.each(['0', '999999', '9223372036854775807'])(
      'returns PET_NOT_FOUND for /pets/%s',
      async (id) => {
        expectError(await requestRaw(gateway, 'GET', `/pets/${id}`), 404, 'PET_NOT_FOUND');
      },
    );
  });

  describe('the ETag of a pet', () => {
    it.each([
      ['this tag', (tag: string) => tag],
      ['its weak form', (tag: string) => `W/${tag.replace('W/', '')}`],
      ['a list that holds it', (tag: string) => `"other", W/"more" ,${tag}`],
      ['a star', () => '*'],
    ])('returns 304 without a body for %s', async (_what, toHeader) => {
      const path = `/pets/${await makePet(gateway)}`;
      const tag = await tagOf(path);
      const answer = await requestRaw(gateway, 'GET', path, { 'If-None-Match': toHeader(tag) });
      expect(answer).toMatchObject({ status: 304, body: '' });
      expect(answer.headers.get('etag')).toBe(tag);
      const head = await requestRaw(gateway, 'HEAD', path, { 'If-None-Match': toHeader(tag) });
      expect(head.status).toBe(304);
    });

    it('returns 304 to fetch, which adds Cache-Control: no-cache by itself', async () => {
      const path = `/pets/${await makePet(gateway)}`;
      const headers = { 'if-none-match': await tagOf(path) };
      expect((await gateway.rest(path, { headers })).status).toBe(304);
    });

    it.each(['"other"', 'W/"other", "more"', 'nonsense', ''])(
      'returns 200 for If-None-Match: %s',
      async (header) => {
        const path = `/pets/${await makePet(gateway)}`;
        const answer = await requestRaw(gateway, 'GET', path, { 'If-None-Match': header });
        expect(answer.status).toBe(200);
        expect(JSON.parse(answer.body)).toMatchObject({ name: 'Cleo' });
      },
    );

    it('changes only when the pet changes', async () => {
      const id = await makePet(gateway);
      const before = await tagOf(`/pets/${id}`);
      expect(await tagOf(`/pets/${id}`)).toBe(before);
      await gateway.data(
        'mutation ($id: ID!) { updatePet(id: $id, input: { status: SOLD }) { ... on Pet { id } } }',
        { id },
      );
      const answer = await requestRaw(gateway, 'GET', `/pets/${id}`, { 'If-None-Match': before });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('etag')).not.toBe(before);
    });

    it('is not in an error, which is never a 304', async () => {
      const answer = await requestRaw(gateway, 'GET', '/pets/999999', { 'If-None-Match': '*' });
      expectError(answer, 404, 'PET_NOT_FOUND');
      expect(answer.headers.get('etag')).toBeNull();
    });
  });

  describe('listing orders', () => {
    beforeEach(() => gateway.db.prisma.order.deleteMany());

    it('returns an empty array if there are none', async () => {
      const response = await gateway.rest('/store/orders');
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toMatch(/^application\/json/);
      expect(await response.text()).toBe('[]');
      expect(await (await gateway.rest('/store/orders?limit=1')).text()).toBe('[]');
    });

    it('returns every order, sorted by id', async () => {
      await fillOrders(2500);
      const response = await gateway.rest('/store/orders');
      const orders = await readOrders(response);
      expect(orders.map(({ quantity }) => quantity)).toEqual(
        Array.from({ length: 2500 }, (_, index) => index + 1),
      );
      expect(response.headers.get('link')).not.toContain('rel="next"');
    });

    it.each([999, 1000, 1001, 2000])('returns %i orders as one array', async (count) => {
      await fillOrders(count);
      expect(await readOrders(await gateway.rest('/store/orders'))).toHaveLength(count);
    });

    it('omits a date that is not set, and returns others in UTC with milliseconds', async () => {
      const petId = await makePet(gateway, { stock: 5 });
      const bare = await makeOrder(gateway, petId, { quantity: 2 });
      const dated = await makeOrder(gateway, petId, {
        shipDate: '2027-01-15T09:00:00+01:00',
        complete: true,
      });
      for (const path of ['/store/orders', '/store/orders?limit=9']) {
        expect(await readOrders(await gateway.rest(path))).toEqual([
          { id: Number(bare), petId: Number(petId), quantity: 2, complete: false },
          {
            id: Number(dated),
            petId: Number(petId),
            quantity: 1,
            shipDate: '2027-01-15T08:00:00.000Z',
            complete: true,
          },
        ]);
      }
    });

    it('returns ids beyond 2^53 exactly, and accepts them in `after`', async () => {
      const petId = BigInt(await makePet(gateway));
      const ids = [9007199254740993n, 9007199254740995n];
      await gateway.db.prisma.order.createMany({
        data: ids.map((id) => ({ id, petId, quantity: 1 })),
      });
      const response = await gateway.rest('/store/orders?limit=1');
      expect(await response.text()).toContain('"id":9007199254740993,');
      expect(response.headers.get('link')).toContain('after=9007199254740993>');
      const rest = await gateway.rest('/store/orders?after=9007199254740993');
      expect(await rest.text()).toMatch(/^\[\{"id":9007199254740995,/);
    });

    it('returns each order once to a client that follows the links', async () => {
      await fillOrders(23);
      const seen: number[] = [];
      let path: string | undefined = '/store/orders?limit=5';
      let pages = 0;
      while (path) {
        const response: Response = await gateway.rest(path);
        seen.push(...(await readOrders(response)).map(({ quantity }) => quantity));
        path = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
        pages += 1;
      }
      expect(seen).toEqual(Array.from({ length: 23 }, (_, index) => index + 1));
      expect(pages).toBe(5);
    });

    it('has no link to a next page after a full last page', async () => {
      await fillOrders(4);
      const response = await gateway.rest('/store/orders?limit=4');
      expect(await readOrders(response)).toHaveLength(4);
      expect(response.headers.get('link')).not.toContain('rel="next"');
    });

    it('returns a page of 1000 if only `after` is given', async () => {
      await fillOrders(1005);
      const response = await gateway.rest('/store/orders?after=0');
      expect(await readOrders(response)).toHaveLength(1000);
      expect(response.headers.get('link')).toContain('limit=1000&');
    });

    it('returns an empty page after the last order', async () => {
      await fillOrders(1);
      const response = await gateway.rest('/store/orders?after=9223372036854775807');
      expect(await response.text()).toBe('[]');
    });

    it.each([
      ['page=7', 'page'],
      ['limit=1&limi=1', 'limi'],
      ['Limit=1', 'Limit'],
      ['limit=0&page=7', 'page'],
      ['page=7&page=8&size=9', 'page'],
      ['__proto__=1', '__proto__'],
      ['constructor', 'constructor'],
      ['a.b%00=1', 'a.b\0'],
      ['=1', ''],
    ])(
      'returns INVALID_INPUT with the name of the unknown parameter for ?%s',
      async (query, name) => {
        const path = `/store/orders?${query}`;
        const answer = await requestRaw(gateway, 'GET', path);
        expectError(answer, 400, 'INVALID_INPUT');
        expect(JSON.parse(answer.body)).toMatchObject({
          message: `${name}: is not a parameter of this operation.`,
        });
        expect((await requestRaw(gateway, 'HEAD', path)).status).toBe(400);
      },
    );

    it.each(['', '&', '&limit=1&'])(
      'accepts separators without a parameter: ?%s',
      async (query) => {
        await fillOrders(1);
        expect(await readOrders(await gateway.rest(`/store/orders?${query}`))).toHaveLength(1);
      },
    );

    it.each([
      'limit=0',
      'limit=1001',
      'limit=99999',
      'limit=abc',
      'limit=1.5',
      'limit=1e2',
      'limit=-1',
      'limit=%201',
      'limit=%00',
      'limit=%zz',
      'limit=',
      'limit',
      'limit=1&limit=2',
      'limit=0&after=1',
      'after=1&after=2',
      'limit=5?after=1',
    ])('returns INVALID_INPUT for ?%s', async (query) => {
      expectError(await requestRaw(gateway, 'GET', `/store/orders?${query}`), 400, 'INVALID_INPUT');
    });

    it.each([
      'after=abc',
      'after=-1',
      'after=1.5',
      'after=',
      'after=%00',
      'after=9223372036854775808',
      'limit=5&after=99999999999999999999',
    ])('returns INVALID_ID for ?%s', async (query) => {
      expectError(await requestRaw(gateway, 'GET', `/store/orders?${query}`), 400, 'INVALID_ID');
    });
  });

  describe('a long list of orders', () => {
    beforeAll(() => gateway.db.prisma.$executeRaw`alter table orders rename to all_orders`);
    afterEach(() => gateway.db.prisma.$executeRaw`drop view orders`);
    afterAll(() => gateway.db.prisma.$executeRaw`alter table all_orders rename to orders`);

    it('is not read to its end if its reader leaves', async () => {
      await createOrdersView('1');
      const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
      socket.write('GET /store/orders HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await new Promise((resolve) => void socket.once('data', resolve));
      socket.destroy();
      const before = gateway.statements.length;
      // While these run, the gateway could read many pages.
      for (let turn = 0; turn < 10; turn += 1) await gateway.rest('/pets/1');
      const pages = gateway.statements.slice(before).filter((sql) => sql.includes('orders'));
      expect(pages.length).toBeLessThan(4);
      expect((await gateway.rest('/store/orders?limit=1')).status).toBe(200);
    });

    it('is cut off if the database fails, so that it does not look complete', async () => {
      await gateway.db.prisma.$executeRawUnsafe(`
      create function fail_late(id integer) returns integer language plpgsql stable as
      'begin if id > 1500 then raise exception ''broken disk''; end if; return 1; end'`);
      await createOrdersView('fail_late(id)');
      const response = await gateway.rest('/store/orders');
      expect(response.status).toBe(200);
      await expect(response.text()).rejects.toThrow('terminated');
      expect(gateway.loggedErrors.splice(0)).toHaveLength(1);
      expect((await gateway.rest('/store/orders?limit=1')).status).toBe(200);
    });
  });
});
