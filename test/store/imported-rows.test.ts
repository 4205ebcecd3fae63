import { beforeAll, describe, expect, it } from 'vitest';

import { gateway, run, useGateway } from '../support/gateway.ts';
import { letASecondPass } from '../support/logged.ts';

useGateway();

const IDS = ['-3', '-2', '0', '1'];
const VALUES = IDS.map((id) => `(${id}, 'Pet ${id}', -1)`).join();

beforeAll(async () => {
  // As if the rows had been imported before the migration that adds the constraints.
  for (const table of ['categories', 'pets', 'orders']) {
    await run(`alter table ${table} drop constraint ${table}_id_check`);
  }
  await run(`insert into categories (id, name) values (-1, 'Imported')`);
  await run(`insert into pets (id, name, category_id) values ${VALUES}`);
  await run(`insert into orders (id, pet_id, quantity) select id, id, 1 from pets`);
  for (const table of ['categories', 'pets', 'orders']) {
    await run(`alter table ${table} add constraint ${table}_id_check check (id >= 0) not valid`);
  }
});

// Not `gateway.rest`, because the OpenAPI document says that ids are not negative.
const listOrders = (path: string): Promise<Response> => fetch(new URL(path, gateway.url));

describe('a row that was imported with a negative id', () => {
  it.each([
    ['orders', 'ID'],
    ['orders', 'SHIP_DATE'],
    ['pets', 'NAME'],
    ['pets', 'ID'],
  ])('is on one page of %s, sorted by %s', async (list, field) => {
    const found: string[] = [];
    let after = '';
    do {
      const { [list]: page } = await gateway.data(
        `{ ${list}(first: 1, orderBy: { field: ${field} } ${after && `, after: "${after}"`}) {
           nodes { id } pageInfo { endCursor hasNextPage } } }`,
      );
      found.push(page.nodes[0].id);
      after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : '';
    } while (after);
    expect(found.toSorted()).toEqual(IDS.toSorted());
  });

  it('is in GET /store/orders, whole and by page', async () => {
    const found: string[] = [];
    let path: string | undefined = '/store/orders?limit=1';
    while (path) {
      const response: Response = await listOrders(path);
      const [order] = (await response.json()) as { id: number }[];
      found.push(`${order?.id}`);
      const [, next] = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
      path = next && new URL(next, response.url).href;
    }
    const all = (await (await listOrders('/store/orders')).json()) as { id: number }[];
    expect([found, all.map(({ id }) => `${id}`)]).toEqual([IDS, IDS]);
  });
});

it.each([
  ['categories', `(id, name) values (-4, 'Cats')`],
  ['pets', `(id, name, category_id) values (-4, 'Rex', -1)`],
  ['orders', '(id, pet_id, quantity) values (-4, 1, 1)'],
])('SQL cannot give a row of %s a negative id', async (table, row) => {
  await expect(run(`insert into ${table} ${row}`)).rejects.toThrow(`"${table}_id_check"`);
});

describe('a row that was imported with a positive id', () => {
  const CREATES = [
    ['categories', 'createCategory(input: { name: "Cats" })'],
    ['pets', 'createPet(input: { name: "Rex", categoryId: "7" })'],
    ['pets', 'createPets(input: [{ name: "Rex", categoryId: "7" }])'],
    ['orders', 'placeOrder(input: { petId: "7", quantity: 1 })'],
    ['orders', 'placeOrder(input: { petId: "7", quantity: 1 }, idempotencyKey: "seven")'],
  ];
  beforeAll(async () => {
    await run(`insert into categories (id, name) values (7, 'Imported')`);
    await run(`insert into pets (id, name, category_id) values (7, 'Imported', 7)`);
    await run(`insert into inventory_items values (7, 7)`);
    await run(`insert into orders (id, pet_id, quantity) values (7, 7, 1)`);
  });

  it.each(CREATES)(
    'is in the way of a new row of %s, until the SQL in the log has set the sequence: %s',
    async (table, call) => {
      const create = () =>
        gateway.graphql(`mutation { ${call} { __typename ... on Error { code } } }`);
      letASecondPass();
      await run(`select setval('${table}_id_seq', 6)`);
      expect((await create()).errors?.[0]?.extensions.code).toBe('INTERNAL_SERVER_ERROR');
      const [logged] = gateway.loggedErrors.splice(0) as { err: Error }[];
      const [, statement = ''] = /(SELECT setval.*);$/.exec(logged?.err.message ?? '') ?? [];
      expect(statement).toContain(`FROM ${table}`);
      await run(statement);
      const { data, errors } = await create();
      expect([errors, JSON.stringify(data).includes('code')]).toEqual([undefined, false]);
    },
  );
});
