import sql, { raw } from 'sql-template-tag';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { type Data, describeOnGateways, gateway, run } from '../../support/gateway.ts';
import { openEvents } from '../../support/live.ts';
import { deleteChanges } from '../../support/maintenance.ts';
import { makeCategory, makeOrder, makePet } from '../../support/make.ts';
import { lastCursor, untilSettled } from '../../support/settled.ts';

// An id that a JavaScript number cannot represent exactly.
const LARGE_ID = '9007199254740993';

const HOUR_MS = 3_600_000;

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

interface Page {
  readonly totalCount: number;
  readonly pageInfo: Data;
  readonly edges: readonly { readonly cursor: string; readonly node: Data }[];
}

const page = async (variables: Record<string, unknown>): Promise<Page> =>
  (await gateway.data(CHANGES, variables)).changes;

async function changesOf(write: () => Promise<unknown>): Promise<Data[]> {
  const after = await lastCursor(gateway);
  await write();
  await untilSettled(gateway.db);
  return (await page({ after, first: 100 })).edges.map(({ node }) => node);
}

/** Returns these changes as callers see them, without their positions and times. */
const contentsOf = async (write: () => Promise<unknown>): Promise<unknown[][]> =>
  (await changesOf(write)).map(({ __typename: type, kind, before, after }) => [
    type.replace('Change', ''),
    kind,
    before,
    after,
  ]);

const typeOf = ({ node: { __typename: type } }: Data): string => type;

const byText = (one: unknown[], other: unknown[]): number =>
  String(one).localeCompare(String(other));

async function insertCategory(name: string, description: string | null): Promise<bigint> {
  const [row] = await gateway.db.write<{ id: bigint }>(
    sql`insert into categories (name, description) values (${name}, ${description}) returning id`,
  );
  return row?.id ?? 0n;
}

/** Sets the time of one change, given by its position in the change log, to two hours ago or another time. */
const age = (place: number, time = `now() - interval '2 hours'`): Promise<unknown> =>
  run(`update changes set changed_at = ${time}
        where id = (select id from changes order by transaction, id offset ${place} limit 1)`);

const IN_FUTURE = `now() + interval '400 days'`;

async function kept(): Promise<{ ids: unknown[]; cursors: string[] }> {
  const { edges } = await page({ first: 100 });
  return {
    ids: edges.map(({ node }) => node.after?.['id']),
    cursors: edges.map(({ cursor }) => cursor),
  };
}

function withTime(cursor = '', ...time: string[]): string {
  const position: unknown[] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  return Buffer.from(JSON.stringify([...position.slice(0, 3), ...time])).toString('base64url');
}

describeOnGateways(() => {
  describe('the change log', () => {
    const category = { id: LARGE_ID, name: 'É\n"\u0001', description: 'null' };
    const pet = { id: LARGE_ID, name: 'Rex', categoryId: LARGE_ID, status: 'PENDING' };
    const stock = { petId: LARGE_ID, quantity: 2_147_483_647 };
    const shipDate = '0001-01-01T00:00:00.001Z';
    const order = { id: LARGE_ID, petId: LARGE_ID, quantity: 1, shipDate, complete: false };

    it('contains all values of a row that SQL changes, including an id above 2^53', async () => {
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
        // These change nothing.
        await run(`update categories set description = null where id = ${LARGE_ID}`);
        await run(`update categories set name = name where name = 'none'`);
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

    it.each(['truncate pets cascade', 'delete from pets'])(
      'contains a deletion for each row that a SQL statement deletes, including rows of other tables: %s',
      async (statement) => {
        await run('truncate pets cascade');
        const categoryId = await makeCategory(gateway);
        const cleo = await makePet(gateway, { categoryId, stock: 3 });
        const rex = await makePet(gateway, { categoryId });
        const contents = await contentsOf(() => run(statement));
        const deleted = { id: cleo, name: 'Cleo', categoryId, status: 'AVAILABLE' };
        expect(contents.toSorted(byText)).toEqual([
          ['InventoryItem', 'DELETED', { petId: cleo, quantity: 3 }, null],
          ['Pet', 'DELETED', deleted, null],
          ['Pet', 'DELETED', { ...deleted, id: rex }, null],
        ]);
      },
    );
  });

  describe('an update to a large row', () => {
    const LONG = '🐾"\\\n\u0001'.repeat(400);
    it.each([
      ['one changed value', 'Cats', LONG, { name: 'Dogs' }],
      ['a long value that is set', 'C'.repeat(255), null, { description: LONG }],
      ['two changed values', 'Cats', LONG, { name: 'Dogs', description: `${LONG.slice(6)}other` }],
    ])('is recorded with the complete row before and after: %s', async (...row) => {
      const [, name, description, data] = row;
      const id = await insertCategory(name, description);
      const before = { id: String(id), name, description };
      const after = { ...before, ...data };
      const contents = await contentsOf(() =>
        gateway.db.write(sql`update categories
          set name = ${after.name}, description = ${after.description} where id = ${id}`),
      );
      expect(contents).toEqual([['Category', 'UPDATED', before, after]]);
    });

    it('takes only as much space in the change log as the new row and the old values of the changed columns', async () => {
      const id = await insertCategory('Cats', LONG);
      await run(`update categories set name = 'Dogs' where id = ${id}`);
      const [size] = await gateway.db.query<{ before: number; after: number }>(
        raw(`select octet_length(before::text) as before, octet_length(after::text) as after
             from changes where row_id = ${id} and kind = 'updated'`),
      );
      expect(size?.after).toBeGreaterThan(4000);
      expect(size?.before).toBeLessThan(50);
    });
  });

  it('the time of a change is between the request and its response', async () => {
    const start = Date.now();
    const [change] = await changesOf(() => makeCategory(gateway));
    const time = Date.parse(change?.changedAt ?? '');
    // PostgreSQL rounds to the nearest millisecond.
    expect(time).toBeGreaterThanOrEqual(start - 1);
    expect(time).toBeLessThanOrEqual(Date.now() + 1);
  });

  describe('the list of changes', () => {
    beforeAll(async () => {
      await untilSettled(gateway.db);
      await deleteChanges(gateway);
      const petId = await makePet(gateway, { stock: 10 });
      for (let count = 0; count < 5; count += 1) await makeOrder(gateway, petId);
      await untilSettled(gateway.db);
    });

    it.each([
      [
        ['INVENTORY_ITEM', 'PET'],
        ['InventoryItemChange', 'PetChange'],
      ],
      [[], []],
      [null, ['CategoryChange', 'InventoryItemChange', 'OrderChange', 'PetChange']],
    ])(
      'returns and counts the changes that match a filter by type: %j',
      async (types, expected) => {
        const { edges, totalCount } = await page({ first: 100, filter: { types } });
        const found = edges.map(typeOf);
        expect([...new Set(found)].toSorted()).toEqual(expected);
        const all = (await page({ first: 100 })).edges.map(typeOf);
        expect(found).toEqual(all.filter((type) => expected.includes(type)));
        expect(totalCount).toBe(found.length);
      },
    );

    it.each(['changes(after: "x") { totalCount }', 'changed(after: "x") { kind }'])(
      'rejects an invalid cursor with the same error in a query and in subscriptions: %s',
      async (field) => {
        const query = field.startsWith('changes') ? `{ ${field} }` : `subscription { ${field} }`;
        const { errors } = await gateway.graphql(query);
        const message = 'after: is not the cursor of a change.';
        const [issue] = [{ path: ['after'], message: 'is not the cursor of a change.' }];
        const extensions = { code: 'INVALID_CURSOR', status: 400, issues: [issue] };
        const locations = [expect.any(Object)];
        expect(errors).toEqual([{ message, locations, extensions }]);
      },
    );
  });

  describe('the deletion of old changes', () => {
    const EXPIRED = [{ extensions: { code: 'CURSOR_EXPIRED', status: 410 } }];
    const SUBSCRIPTION =
      'subscription ($after: String) { categoryChanged(after: $after) { cursor } }';

    let ids: unknown[];
    let cursors: string[];
    beforeEach(async () => {
      // `deleteChanges` keeps the last change.
      await makeCategory(gateway);
      await untilSettled(gateway.db);
      await deleteChanges(gateway);
      for (let count = 0; count < 4; count += 1) await makeCategory(gateway);
      await untilSettled(gateway.db);
      ({ ids, cursors } = await kept());
    });

    it('stops at the first change that is not old', async () => {
      for (const place of [0, 1, 3]) await age(place);
      await deleteChanges(gateway, HOUR_MS);
      expect((await kept()).ids).toEqual(ids.slice(2));
    });

    it('does not stop at any number of changes dated in the future', async () => {
      await run(`insert into categories (name) select 'many' from generate_series(1, 1200)`);
      await run(`update changes set changed_at = ${IN_FUTURE}`);
      await makeCategory(gateway);
      const cursor = await lastCursor(gateway);
      await run(
        `update changes set changed_at = now() - interval '2 hours' where changed_at < now()`,
      );
      await makeCategory(gateway);
      await untilSettled(gateway.db);
      await deleteChanges(gateway, HOUR_MS);
      expect((await kept()).cursors).toEqual([await lastCursor(gateway)]);
      expect((await gateway.graphql(CHANGES, { after: cursor, first: 1 })).errors).toMatchObject(
        EXPIRED,
      );
    });

    it('keeps changes dated in the future that may be young', async () => {
      await age(0);
      await age(1, IN_FUTURE);
      await age(4, IN_FUTURE);
      await deleteChanges(gateway, HOUR_MS);
      expect((await kept()).ids).toEqual(ids.slice(1));
      await run('update changes set changed_at = now()');
    });

    it('keeps the last change, whose cursor stays valid', async () => {
      await deleteChanges(gateway);
      expect((await kept()).ids).toEqual(ids.slice(4));
      expect((await page({ first: 1, after: cursors[4] })).edges).toEqual([]);
    });

    it('deletes all changes of a restored dump if this database has not reached their transaction ids', async () => {
      const [, first] = cursors;
      await run(`insert into changes (transaction, id, type, row_id, kind)
        select transaction + 1000000, id, type, row_id, kind from changes`);
      await deleteChanges(gateway, HOUR_MS);
      expect(await gateway.db.query(raw('select from changes'))).toEqual([]);
      // It comes before the others in the log, but after it, changes are missing.
      expect((await gateway.graphql(CHANGES, { after: first, first: 1 })).errors).toMatchObject(
        EXPIRED,
      );
    });

    describe('a cursor', () => {
      it('of release 3.0, which has no time, expires when its change is deleted', async () => {
        const old = { first: 1, after: withTime(cursors[1]) };
        expect((await page(old)).pageInfo.endCursor).toBe(cursors[2]);
        await deleteChanges(gateway);
        expect((await gateway.graphql(CHANGES, old)).errors).toMatchObject(EXPIRED);
      });

      it('expires if another change has its position', async () => {
        const { errors } = await gateway.graphql(CHANGES, { after: withTime(cursors[1], '0') });
        expect(errors).toMatchObject(EXPIRED);
      });
    });

    it('makes the cursors of deleted changes expire, for pages and for subscriptions', async () => {
      await deleteChanges(gateway);
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
