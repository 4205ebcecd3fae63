import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';

import { deleteOldChanges } from '../../src/changes/record.ts';
import { Prisma } from '../../src/database/generated/prisma/client.ts';
import { describeOnBothDatabases } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { openEvents } from '../support/live.ts';
import { makeCategory, makeOrder, makePet } from '../support/make.ts';

let gateway: Gateway;

// More than a JavaScript number can hold.
const LARGE_ID = '9007199254740993';

const HOUR_MS = 3_600_000;
// Any change is older, also if the clock of PostgreSQL is ahead.
const AT_ONCE = -HOUR_MS;

const { raw } = Prisma;
const run = (sql: string): Promise<unknown> => gateway.db.write(raw(sql));

const CHANGES = `query ($first: Int, $after: String, $last: Int, $before: String, $filter: ChangeFilter) {
  changes(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
    totalCount
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    edges { cursor node {
      __typename kind changedAt cursor
      ... on CategoryChange {
        categoryId before { id name description } after { id name description } }
      ... on PetChange {
        petId before { id name categoryId status } after { id name categoryId status } }
      ... on InventoryItemChange { petId before { petId quantity } after { petId quantity } }
      ... on OrderChange {
        orderId before { id petId quantity shipDate complete } after { id petId quantity shipDate complete } }
    } } } }`;

type Values = Record<string, string | number | boolean | null>;

interface Change {
  __typename: string;
  kind: string;
  changedAt: string;
  cursor: string;
  before: Values | null;
  after: Values | null;
}

interface Page {
  totalCount: number;
  pageInfo: Record<'hasNextPage' | 'hasPreviousPage', boolean> &
    Record<'startCursor' | 'endCursor', string | null>;
  edges: { cursor: string; node: Change }[];
}

const page = async (variables: Record<string, unknown>): Promise<Page> =>
  (await gateway.data(CHANGES, variables)).changes;

/** Returns what callers see of a change, without its place and time. */
function contentOf({ __typename: type, kind, before, after }: Change): unknown[] {
  return [type.replace('Change', ''), kind, before, after];
}

let marks = 0;

/** Makes a change that is known, and returns it once it is in the record: then all before it are, too. */
async function mark(): Promise<Change> {
  const name = `mark ${(marks += 1)}`;
  await gateway.db.prisma.category.create({ data: { name } });
  // Another transaction of the same server, such as one of another test, can delay it.
  const read = async (): Promise<Change> => {
    const [last] = (await page({ last: 1 })).edges;
    if (last?.node.after?.['name'] !== name) throw new Error(`${name} is not in the record.`);
    return last.node;
  };
  return vi.waitFor(read, { timeout: 30_000, interval: 10 });
}

/** Returns the changes that `write` makes. */
async function changesOf(write: () => Promise<unknown>): Promise<Change[]> {
  const { cursor: after } = await mark();
  await write();
  const { cursor: before } = await mark();
  return (await page({ after, before, first: 100 })).edges.map(({ node }) => node);
}

const contentsOf = async (write: () => Promise<unknown>): Promise<unknown[][]> =>
  (await changesOf(write)).map(contentOf);

const byText = (one: unknown[], other: unknown[]): number =>
  String(one).localeCompare(String(other));

const ERROR = '... on Error { code }';
const mutate = (mutation: string): Promise<unknown> =>
  gateway.data(`mutation { ${mutation} { ${ERROR} } }`);

const insertCategory = (name: string, description: string | null) =>
  gateway.db.prisma.category.create({ data: { name, description } });

/** Inserts a row in a transaction that is rolled back. */
const failToInsert = async (): Promise<void> => {
  const failing = gateway.db.transaction(async ({ query }) => {
    await query(raw(`insert into categories (name) values ('a')`));
    throw new Error('No.');
  });
  await expect(failing).rejects.toThrow('No.');
};

/** Makes a change at a place of the record two hours old. */
const age = (place: number): Promise<unknown> =>
  run(`update changes set changed_at = now() - interval '2 hours'
        where id = (select id from changes order by transaction, id offset ${place} limit 1)`);

/** Returns the cursors of all changes in the record. */
const kept = async (): Promise<string[]> =>
  (await page({ first: 100 })).edges.map(({ cursor }) => cursor);

describeOnBothDatabases(() => {
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());

  describe('a mutation is recorded with the row before and after', () => {
    it('of a category', async () => {
      let id = '';
      const contents = await contentsOf(async () => {
        id = await makeCategory(gateway, 'Cats');
        await mutate(`updateCategory(id: "${id}", input: { description: "Purr" })`);
        await mutate(`deleteCategory(id: "${id}")`);
      });
      const first = { id, name: 'Cats', description: null };
      const second = { ...first, description: 'Purr' };
      expect(contents).toEqual([
        ['Category', 'CREATED', null, first],
        ['Category', 'UPDATED', first, second],
        ['Category', 'DELETED', second, null],
      ]);
    });

    it('of a pet, and of its stock, which is deleted with it', async () => {
      const categoryId = await makeCategory(gateway);
      let id = '';
      const contents = await contentsOf(async () => {
        id = await makePet(gateway, { categoryId, name: 'Cleo' });
        await mutate(`updateInventory(petId: "${id}", input: { quantity: 4 })`);
        await mutate(`adjustInventory(petId: "${id}", by: -1)`);
        await mutate(`updatePet(id: "${id}", input: { status: SOLD })`);
      });
      const pet = { id, name: 'Cleo', categoryId, status: 'AVAILABLE' };
      const sold = { ...pet, status: 'SOLD' };
      const stock = (quantity: number): Values => ({ petId: id, quantity });
      expect(contents).toEqual([
        ['Pet', 'CREATED', null, pet],
        ['InventoryItem', 'CREATED', null, stock(4)],
        ['InventoryItem', 'UPDATED', stock(4), stock(3)],
        ['Pet', 'UPDATED', pet, sold],
      ]);
      const deleted = await contentsOf(() => mutate(`deletePet(id: "${id}")`));
      expect(deleted.toSorted(byText)).toEqual([
        ['InventoryItem', 'DELETED', stock(3), null],
        ['Pet', 'DELETED', sold, null],
      ]);
    });

    it('of an order, with the stock that it takes and gives back', async () => {
      const petId = await makePet(gateway, { stock: 5 });
      let id = '';
      const contents = await contentsOf(async () => {
        id = await makeOrder(gateway, petId, {
          quantity: 2,
          shipDate: '2027-01-01T12:00:00.5+02:00',
        });
        await mutate(`rescheduleOrder(id: "${id}", shipDate: null)`);
        await mutate(`cancelOrder(id: "${id}")`);
      });
      const stock = (quantity: number): Values => ({ petId, quantity });
      const order = {
        id,
        petId,
        quantity: 2,
        shipDate: '2027-01-01T10:00:00.500Z',
        complete: false,
      };
      const later = { ...order, shipDate: null };
      const [placed, rescheduled, cancelled] = [
        contents.slice(0, 2),
        contents.slice(2, 3),
        contents.slice(3),
      ];
      expect(placed).toHaveLength(2);
      expect(placed).toContainEqual(['InventoryItem', 'UPDATED', stock(5), stock(3)]);
      expect(placed).toContainEqual(['Order', 'CREATED', null, order]);
      expect(rescheduled).toEqual([['Order', 'UPDATED', order, later]]);
      expect(cancelled).toHaveLength(2);
      expect(cancelled).toContainEqual(['InventoryItem', 'UPDATED', stock(3), stock(5)]);
      expect(cancelled).toContainEqual(['Order', 'DELETED', later, null]);
    });
  });

  describe('SQL is recorded', () => {
    const category = { id: LARGE_ID, name: 'É\n"\u0001', description: 'null' };
    const pet = { id: LARGE_ID, name: 'Rex', categoryId: LARGE_ID, status: 'PENDING' };
    const stock = { petId: LARGE_ID, quantity: 2_147_483_647 };
    const shipDate = '0001-01-01T00:00:00.001Z';
    const order = { id: LARGE_ID, petId: LARGE_ID, quantity: 1, shipDate, complete: false };

    it('with each value of a row, also an id above 2^53', async () => {
      const contents = await contentsOf(async () => {
        await run(
          `insert into categories (id, name, description) values (${LARGE_ID}, E'É\\n"\\x01', 'null')`,
        );
        await run(`insert into pets values (${LARGE_ID}, 'Rex', ${LARGE_ID}, 'pending')`);
        await run(
          `insert into inventory_items (pet_id, quantity) values (${LARGE_ID}, 2147483647)`,
        );
        await run(
          `insert into orders (id, pet_id, quantity, ship_date) values (${LARGE_ID}, ${LARGE_ID}, 1, '${shipDate}')`,
        );
        await run(`update orders set complete = true where id = ${LARGE_ID}`);
        await run(`update inventory_items set quantity = 0 where pet_id = ${LARGE_ID}`);
        await run(`update pets set name = 'Max' where id = ${LARGE_ID}`);
        await run(`update categories set description = null where id = ${LARGE_ID}`);
        await run(`delete from orders where id = ${LARGE_ID}`);
        await run(`delete from inventory_items where pet_id = ${LARGE_ID}`);
        await run(`delete from pets where id = ${LARGE_ID}`);
        await run(`delete from categories where id = ${LARGE_ID}`);
      });
      const updated = {
        Category: { ...category, description: null },
        Pet: { ...pet, name: 'Max' },
        InventoryItem: { ...stock, quantity: 0 },
        Order: { ...order, complete: true },
      };
      expect(contents).toEqual([
        ['Category', 'CREATED', null, category],
        ['Pet', 'CREATED', null, pet],
        ['InventoryItem', 'CREATED', null, stock],
        ['Order', 'CREATED', null, order],
        ['Order', 'UPDATED', order, updated.Order],
        ['InventoryItem', 'UPDATED', stock, updated.InventoryItem],
        ['Pet', 'UPDATED', pet, updated.Pet],
        ['Category', 'UPDATED', category, updated.Category],
        ['Order', 'DELETED', updated.Order, null],
        ['InventoryItem', 'DELETED', updated.InventoryItem, null],
        ['Pet', 'DELETED', updated.Pet, null],
        ['Category', 'DELETED', updated.Category, null],
      ]);
    });

    it('as updated for each row whose values it changes, and not for the others', async () => {
      const changed = await makeCategory(gateway, 'changed');
      await makeCategory(gateway, 'same');
      const contents = await contentsOf(async () => {
        await run(`update categories set name = 'same' where name in ('changed', 'same')`);
        await run(`update categories set name = name`);
      });
      const before = { id: changed, name: 'changed', description: null };
      expect(contents).toEqual([['Category', 'UPDATED', before, { ...before, name: 'same' }]]);
    });

    it('as a deletion of each row if it is TRUNCATE', async () => {
      const categoryId = await makeCategory(gateway);
      const cleo = await makePet(gateway, { categoryId, stock: 3 });
      const rex = await makePet(gateway, { categoryId });
      const orderId = await makeOrder(gateway, cleo);
      await run(`delete from orders where id <> ${orderId}`);
      await run(`delete from pets where id not in (${cleo}, ${rex})`);
      const changes = await changesOf(() => run('truncate pets cascade'));
      const ids = changes.map(({ __typename: type, kind, before, after }) => [
        type,
        kind,
        before?.['id'] ?? before?.['petId'],
        after,
      ]);
      expect(ids.toSorted(byText)).toEqual([
        ['InventoryItemChange', 'DELETED', cleo, null],
        ['OrderChange', 'DELETED', orderId, null],
        ['PetChange', 'DELETED', cleo, null],
        ['PetChange', 'DELETED', rex, null],
      ]);
    });

    it('in the order of its statements, if one transaction has several', async () => {
      const contents = await contentsOf(() =>
        gateway.db.transaction(async ({ query }) => {
          await query(raw(`insert into categories (id, name) values (${LARGE_ID}, 'a')`));
          await query(raw(`update categories set name = 'b' where id = ${LARGE_ID}`));
          await query(raw(`insert into pets values (${LARGE_ID}, 'c', ${LARGE_ID})`));
          await query(raw(`update categories set name = 'd' where id = ${LARGE_ID}`));
        }),
      );
      expect(contents.map(([type, kind]) => [type, kind])).toEqual([
        ['Category', 'CREATED'],
        ['Category', 'UPDATED'],
        ['Pet', 'CREATED'],
        ['Category', 'UPDATED'],
      ]);
    });

    it('not at all if it is rolled back', async () => {
      expect(await contentsOf(failToInsert)).toEqual([]);
    });
  });

  describe('an update of a long row', () => {
    const LONG = '🐾"\\\n\u0001'.repeat(400);
    it.each([
      ['another value', { name: 'Dogs' }],
      ['a long value that ends', { description: null }],
      ['two other values', { name: 'Dogs', description: `${LONG.slice(6)}other` }],
    ])('is recorded with the whole row before and after, with %s', async (_what, data) => {
      const { id } = await insertCategory('Cats', LONG);
      const contents = await contentsOf(() =>
        gateway.db.prisma.category.update({ where: { id }, data }),
      );
      const before = { id: String(id), name: 'Cats', description: LONG };
      expect(contents).toEqual([['Category', 'UPDATED', before, { ...before, ...data }]]);
    });

    it('is recorded with the whole row before and after, with a long value that begins', async () => {
      const { id } = await insertCategory('C'.repeat(255), null);
      const contents = await contentsOf(() =>
        gateway.db.prisma.category.update({ where: { id }, data: { description: LONG } }),
      );
      const before = { id: String(id), name: 'C'.repeat(255), description: null };
      expect(contents).toEqual([['Category', 'UPDATED', before, { ...before, description: LONG }]]);
    });

    it('takes no more space than the row after it and the values that changed', async () => {
      const { id } = await insertCategory('Cats', LONG);
      await run(`update categories set name = 'Dogs' where id = ${id}`);
      const [size] = await gateway.db.query<{ before: number; after: number }>(
        raw(`select octet_length(before::text) as before, octet_length(after::text) as after
             from changes where row_id = ${id} and kind = 'updated'`),
      );
      expect(size?.after).toBeGreaterThan(4000);
      expect(size?.before).toBeLessThan(50);
    });

    it('that a gateway of release 2.0.0 recorded has the whole row before and after', async () => {
      const after = { id: '7', name: 'Dogs', description: 'x'.repeat(2000) };
      const before = { ...after, name: 'Cats' };
      const [change] = await contentsOf(() =>
        run(`insert into changes (type, row_id, kind, before, after)
             values ('Category', 7, 'updated', '${JSON.stringify(before)}', '${JSON.stringify(after)}')`),
      );
      expect(change).toEqual(['Category', 'UPDATED', before, after]);
    });
  });

  it('the time of a change is that of its statement', async () => {
    const start = Date.now();
    const [change] = await changesOf(() => makeCategory(gateway));
    const time = Date.parse(change?.changedAt ?? '');
    // PostgreSQL rounds to the next millisecond.
    expect(time).toBeGreaterThanOrEqual(start - 1);
    expect(time).toBeLessThanOrEqual(Date.now() + 1);
  });

  describe('the record', () => {
    beforeAll(async () => {
      await mark();
      await deleteOldChanges(gateway.db, AT_ONCE);
      const petId = await makePet(gateway, { stock: 10 });
      for (let count = 0; count < 5; count += 1) await makeOrder(gateway, petId);
      await mark();
    });

    it.each([1, 3, 100])('has the same changes in pages of %i, from both ends', async (size) => {
      const all = (await page({ first: 100 })).edges.map(({ cursor }) => cursor);
      const forwards: string[] = [];
      for (let after: string | null = null, isMore = true; isMore;) {
        const { edges, pageInfo } = await page({ first: size, after });
        forwards.push(...edges.map(({ cursor }) => cursor));
        ({ endCursor: after, hasNextPage: isMore } = pageInfo);
      }
      const backwards: string[] = [];
      for (let before: string | null = null, isMore = true; isMore;) {
        const { edges, pageInfo } = await page({ last: size, before });
        backwards.unshift(...edges.map(({ cursor }) => cursor));
        ({ startCursor: before, hasPreviousPage: isMore } = pageInfo);
      }
      expect(new Set(forwards).size).toBe(forwards.length);
      expect(forwards.slice(0, 100)).toEqual(all);
      expect(backwards).toEqual(forwards);
    });

    it.each([
      [['ORDER'], ['OrderChange']],
      [
        ['INVENTORY_ITEM', 'PET'],
        ['InventoryItemChange', 'PetChange'],
      ],
      [[], []],
      [null, ['CategoryChange', 'InventoryItemChange', 'OrderChange', 'PetChange']],
    ])('has those of the types %j, and counts them', async (types, expected) => {
      const { edges, totalCount } = await page({ first: 100, filter: { types } });
      const found = edges.map(({ node }) => node['__typename']);
      expect([...new Set(found)].toSorted()).toEqual(expected);
      const all = await page({ first: 100 });
      expect(found).toEqual(
        all.edges.map(({ node }) => node['__typename']).filter((type) => expected.includes(type)),
      );
      expect(totalCount).toBe(found.length);
    });

    it('has the same cursor on an edge and on its change', async () => {
      const { edges } = await page({ first: 100 });
      expect(edges.map(({ node }) => node.cursor)).toEqual(edges.map(({ cursor }) => cursor));
    });

    it.each(['after', 'before'])('rejects a cursor of another list as %s', async (name) => {
      const { pets } = await gateway.data('{ pets { pageInfo { endCursor } } }');
      for (const cursor of [pets.pageInfo.endCursor, 'x', '']) {
        const size = name === 'after' ? 'first' : 'last';
        const { errors } = await gateway.graphql(CHANGES, { [name]: cursor, [size]: 1 });
        expect(errors).toMatchObject([{ extensions: { code: 'INVALID_CURSOR', status: 400 } }]);
      }
    });
  });

  describe('the deletion of old changes', () => {
    const EXPIRED = [{ extensions: { code: 'CURSOR_EXPIRED', status: 410 } }];
    const SUBSCRIPTION =
      'subscription ($after: String) { categoryChanged(after: $after) { cursor } }';

    let cursors: string[];
    beforeEach(async () => {
      await mark();
      await deleteOldChanges(gateway.db, AT_ONCE);
      for (let count = 0; count < 3; count += 1) await makeCategory(gateway);
      await mark();
      cursors = (await page({ first: 100 })).edges.map(({ cursor }) => cursor);
    });

    it('ends at the first change that is not old', async () => {
      for (const place of [0, 1, 3]) await age(place);
      await deleteOldChanges(gateway.db, HOUR_MS);
      expect(await kept()).toEqual(cursors.slice(2));
    });

    it('keeps the last change, whose cursor stays valid', async () => {
      await deleteOldChanges(gateway.db, AT_ONCE);
      expect(await kept()).toEqual(cursors.slice(4));
      expect((await page({ first: 1, after: cursors[4] })).edges).toEqual([]);
    });

    it('deletes more than a batch', async () => {
      await run(`insert into categories (name) select 'many' from generate_series(1, 2500)`);
      const { cursor } = await mark();
      await deleteOldChanges(gateway.db, AT_ONCE);
      expect(await kept()).toEqual([cursor]);
    });

    it('deletes those of transactions that are still to come, which a restored backup has', async () => {
      await run(`insert into changes (transaction, id, type, row_id, kind)
        select transaction + 1000000, id, type, row_id, kind from changes`);
      await deleteOldChanges(gateway.db, HOUR_MS);
      expect(await kept()).toEqual(cursors);
      expect(await gateway.db.query(raw('select from changes'))).toHaveLength(cursors.length);
    });

    it('expires older cursors, for pages and for subscriptions', async () => {
      await deleteOldChanges(gateway.db, AT_ONCE);
      const cursor = cursors[3];
      for (const variables of [
        { after: cursor, first: 1 },
        { before: cursor, last: 1 },
      ]) {
        const { errors } = await gateway.graphql(CHANGES, variables);
        expect(errors).toMatchObject(EXPIRED);
      }
      const stream = await openEvents(gateway, SUBSCRIPTION, { variables: { after: cursor } });
      expect(await stream.rest()).toMatchObject([{ errors: EXPIRED }]);
    });
  });
});
