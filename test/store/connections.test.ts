import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';

import { useGateway, gateway } from '../support/gateway.ts';

// Each list with its field, and its parent if it has one.
const LISTS = [
  ['pets', 'pets', ''],
  ['categories', 'categories', ''],
  ['inventory', 'inventory', ''],
  ['orders', 'orders', ''],
  ['the pets of a category', 'pets', 'category(id: 1)'],
  ['the orders of a pet', 'orders', 'pet(id: 1)'],
] as const;

interface Node {
  id?: string;
  petId?: string;
}

const idOf = ({ id, petId }: Node): number => Number(id ?? petId);

async function page(list: string, args = '', parent = '') {
  const id = list === 'inventory' ? 'petId' : 'id';
  const fields = `list: ${list}${args && `(${args})`} {
    totalCount edges { cursor node { ${id} } } nodes { ${id} }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }`;
  const data = await gateway.data(parent ? `{ parent: ${parent} { ${fields} } }` : `{ ${fields} }`);
  return (data.parent ?? data).list;
}

const forge = (...place: unknown[]): string =>
  Buffer.from(JSON.stringify(place)).toString('base64url');

useGateway();
beforeAll(async () => {
  const { write } = gateway.db;
  await write(sql`insert into categories (name) select 'Cats' from generate_series(1, 25)`);
  await write(
    sql`insert into pets (name, category_id) select 'Cleo', 1 from generate_series(1, 25)`,
  );
  await write(sql`insert into inventory_items select id, 1 from pets`);
  await write(sql`insert into orders (pet_id, quantity) select 1, 1 from pets`);
});

describe('a page of a list', () => {
  it.each(LISTS)(
    'has 20 rows by default, and contains the count of all rows in the list: %s',
    async (_what, list, parent) => {
      const { edges, nodes, totalCount, pageInfo } = await page(list, '', parent);
      expect(nodes.map(idOf)).toEqual(edges.map(({ node }: { node: Node }) => idOf(node)));
      expect(nodes).toHaveLength(20);
      expect(totalCount).toBe(25);
      expect(pageInfo).toEqual({
        hasNextPage: true,
        hasPreviousPage: false,
        startCursor: edges[0].cursor,
        endCursor: edges[19].cursor,
      });
    },
  );

  it('is empty if `first` is 0', async () => {
    expect(await page('pets', 'first: 0')).toMatchObject({ edges: [], totalCount: 25 });
  });

  it('contains the rows between the cursors `after` and `before`', async () => {
    const { edges } = await page('pets');
    const { nodes } = await page(
      'pets',
      `after: "${edges[2].cursor}", before: "${edges[6].cursor}"`,
    );
    expect(nodes.map(idOf)).toEqual([4, 5, 6]);
  });

  it.each([
    ['after', 'first: 3', true, true],
    ['after', 'first: 100', false, true],
    ['after', 'last: 3', false, true],
    ['before', 'first: 3', true, false],
    ['before', 'last: 3', true, true],
    ['before', 'last: 100', true, false],
  ])(
    'with the cursor of row 11 of 25 in `%s`, and with %s, has hasNextPage %s and hasPreviousPage %s',
    async (end, size, hasNextPage, hasPreviousPage) => {
      const { edges } = await page('pets');
      const { pageInfo } = await page('pets', `${end}: "${edges[10].cursor}", ${size}`);
      expect(pageInfo).toMatchObject({ hasNextPage, hasPreviousPage });
    },
  );

  it.each(['first: 101', 'first: -1', 'last: 101', 'last: -1', 'first: 1, last: 1'])(
    'is rejected as INVALID_INPUT if its arguments are %s',
    async (args) => {
      const { errors } = await gateway.graphql(`{ pets(${args}) { nodes { id } } }`);
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'INVALID_INPUT', status: 400 });
    },
  );
});

it.each([
  ['garbage', 'pets', 'ID', 'garbage'],
  ['a position by id, although the list is sorted by name', 'pets', 'NAME', forge('ID', '1')],
  ['a position by name, although the list is sorted by id', 'pets', 'ID', forge('NAME', '1', 'a')],
  ['an id beyond int64', 'pets', 'ID', forge('ID', '9223372036854775808')],
  ['a name with NUL', 'pets', 'NAME', forge('NAME', '1', 'a\0')],
  ['no name in a list sorted by name', 'pets', 'NAME', forge('NAME', '1')],
  ['null instead of a name, which every pet has', 'pets', 'NAME', forge('NAME', '1', null)],
  ['an object', 'pets', 'ID', Buffer.from('{"0":"ID","1":"1"}').toString('base64url')],
  ['a quantity beyond int32', 'inventory', 'QUANTITY', forge('QUANTITY', '1', '2147483648')],
  [
    'a date that does not exist',
    'orders',
    'SHIP_DATE',
    forge('SHIP_DATE', '1', '2027-02-30T00:00:00.000Z'),
  ],
])(
  'a cursor of a list is rejected as INVALID_CURSOR if it contains %s',
  async (_what, list, field, cursor) => {
    const { errors } = await gateway.graphql(
      `query ($after: String) { ${list}(orderBy: { field: ${field} }, after: $after) { totalCount } }`,
      { after: cursor },
    );
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'INVALID_CURSOR',
      status: 400,
      issues: [{ path: ['after'] }],
    });
  },
);
