import { assert, asyncProperty, constant, nat, oneof, option, record } from 'fast-check';
import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';

import { type Data, gateway, useGateway } from '../support/gateway.ts';
import { untilSettled } from '../support/settled.ts';

// Each list with its field, and its parent if it has one.
const LISTS = [
  ['pets', 'pets', ''],
  ['categories', 'categories', ''],
  ['inventory', 'inventory', ''],
  ['orders', 'orders', ''],
  ['the pets of a category', 'pets', 'category(id: 1)'],
  ['the orders of a pet', 'orders', 'pet(id: 1)'],
  ['the change log', 'changes', ''],
] as const;

async function page(list: string, parent: string, variables: object): Promise<Data> {
  const id = list === 'changes' ? 'cursor' : 'id';
  const fields = `list: ${list}(first: $first, after: $after, last: $last, before: $before) {
    totalCount edges { cursor node { ${id} } } nodes { ${id} }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }`;
  const data = await gateway.data(
    `query ($first: Int, $after: String, $last: Int, $before: String) {
      ${parent ? `parent: ${parent} { ${fields} }` : fields} }`,
    { ...variables },
  );
  return (data.parent ?? data).list;
}

const ROWS = 25;

/** Arguments of a page: the places in the list of the rows before and after it, and its size. */
const pages = record({
  after: option(nat(ROWS - 1), { nil: undefined }),
  before: option(nat(ROWS - 1), { nil: undefined }),
  size: oneof(
    constant({}),
    nat(ROWS + 5).map((first) => ({ first })),
    nat(ROWS + 5).map((last) => ({ last })),
  ),
});

function sliceOf({ edges: all, totalCount }: Data, { after = -1, before, size }: Data) {
  const between: Data[] = all.slice(after + 1, before);
  const { first = 20, last } = size;
  const isBackwards = last !== undefined;
  const edges = isBackwards
    ? between.slice(Math.max(0, between.length - last))
    : between.slice(0, first);
  const hasMore = edges.length < between.length;
  return {
    totalCount,
    edges,
    nodes: edges.map(({ node }) => node),
    pageInfo: {
      hasNextPage: before !== undefined || (!isBackwards && hasMore),
      hasPreviousPage: after >= 0 || (isBackwards && hasMore),
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}

const forge = (place: unknown): string => Buffer.from(JSON.stringify(place)).toString('base64url');

useGateway();
beforeAll(async () => {
  const { write } = gateway.db;
  await write(sql`insert into categories (name) select 'Cats' from generate_series(1, 25)`);
  await write(
    sql`insert into pets (name, category_id) select 'Cleo', 1 from generate_series(1, 25)`,
  );
  await write(sql`insert into inventory_items select id, 1 from pets`);
  await write(sql`insert into orders (pet_id, quantity) select 1, 1 from pets`);
  await untilSettled(gateway.db);
});

describe('a page of a list', () => {
  it.each(LISTS)(
    'has the rows that its cursors and its size leave, by default the first 20, whether there are others, and the count of all rows: %s',
    async (_what, list, parent) => {
      const all = await page(list, parent, { first: 100 });
      expect(all.edges).toHaveLength(list === 'changes' ? 4 * ROWS : ROWS);
      expect(all.totalCount).toBe(all.edges.length);
      const cursorAt = (place?: number) => (place === undefined ? null : all.edges[place]?.cursor);
      const isPart = asyncProperty(pages, async (args) => {
        const [after, before] = [cursorAt(args.after), cursorAt(args.before)];
        const found = await page(list, parent, { after, before, ...args.size });
        expect(found).toEqual(sliceOf(all, args));
      });
      await assert(isPart, { numRuns: 25 });
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

it.each<[what: string, list: string, field: string, place: unknown]>([
  ['garbage', 'pets', 'ID', 'garbage'],
  ['a position by id, although the list is sorted by name', 'pets', 'NAME', ['ID', '1']],
  ['a position by name, although the list is sorted by id', 'pets', 'ID', ['NAME', '1', 'a']],
  ['an id beyond int64', 'pets', 'ID', ['ID', '9223372036854775808']],
  ['a name with NUL', 'pets', 'NAME', ['NAME', '1', 'a\0']],
  ['no name in a list sorted by name', 'pets', 'NAME', ['NAME', '1']],
  ['null instead of a name, which every pet has', 'pets', 'NAME', ['NAME', '1', null]],
  ['an object', 'pets', 'ID', { 0: 'ID', 1: '1' }],
  ['a quantity beyond int32', 'inventory', 'QUANTITY', ['QUANTITY', '1', '2147483648']],
  ['no date', 'orders', 'SHIP_DATE', ['SHIP_DATE', '1', '2027-02-30T00:00:00.000Z']],
])(
  'a cursor of a list is rejected as INVALID_CURSOR if it contains %s',
  async (_what, list, field, place) => {
    const { errors } = await gateway.graphql(
      `query ($after: String) { ${list}(orderBy: { field: ${field} }, after: $after) { totalCount } }`,
      { after: place === 'garbage' ? place : forge(place) },
    );
    const issues = [{ path: ['after'] }];
    const extensions = { code: 'INVALID_CURSOR', status: 400, issues };
    expect(errors).toMatchObject([{ extensions }]);
  },
);
