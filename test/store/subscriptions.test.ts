import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';

import { StoreError } from '../../src/contract/errors.ts';
import { Prisma } from '../../src/database/generated/prisma/client.ts';
import { describeOnBothDatabases, openCopy } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { type EventStream, openEvents, untilNoStreams } from '../support/live.ts';
import { makeCategory, makeOrder, makePet } from '../support/make.ts';

let gateway: Gateway;
/** While it is true, the record of changes can't be read. */
let fails = false;
let failures = 0;

const open: typeof openCopy = async (config, log) => {
  const db = await openCopy(config, log);
  return {
    ...db,
    query: async (statement, ...how) => {
      if (fails && statement.text.includes('changes')) {
        failures += 1;
        throw new StoreError('SERVICE_UNAVAILABLE');
      }
      return db.query(statement, ...how);
    },
  };
};

const run = (sql: string): Promise<unknown> => gateway.db.write(Prisma.raw(sql));
const insert = (name: string): Promise<unknown> =>
  run(`insert into categories (name) values ('${name}')`);

const streams: EventStream[] = [];

/** Subscribes with a field and what is selected of it; closed after the test. */
async function subscribe(field: string, variables?: Record<string, unknown>): Promise<EventStream> {
  const declared = variables && 'after' in variables ? '($after: String)' : '';
  const stream = await openEvents(gateway, `subscription ${declared} { changed: ${field} }`, {
    ...(variables && { variables }),
  });
  streams.push(stream);
  return stream;
}

const changed = async (stream: EventStream) => (await stream.data()).changed;

const NAMES = '{ cursor after { name } }';

/** Subscribes to the categories after a cursor. */
const namesAfter = (after: string): Promise<EventStream> =>
  subscribe(`categoryChanged(after: $after) ${NAMES}`, { after });

/** Returns the names and the cursors of the categories in the record. */
async function recorded(): Promise<{ name: string; cursor: string }[]> {
  const found: { name: string; cursor: string }[] = [];
  for (let after: string | null = null, isMore = true; isMore;) {
    const { changes } = await gateway.data(
      `query ($after: String) { changes(first: 100, after: $after, filter: { types: [CATEGORY] }) {
        pageInfo { endCursor hasNextPage }
        nodes { cursor ... on CategoryChange { after { name } } } } }`,
      { after },
    );
    const nodes: { cursor: string; after: { name: string } | null }[] = changes.nodes;
    found.push(...nodes.map(({ cursor, after: row }) => ({ cursor, name: row?.name ?? '' })));
    ({ endCursor: after, hasNextPage: isMore } = changes.pageInfo);
  }
  return found;
}

/** Returns the cursor of a category, once it is in the record. */
const cursorOf = (name: string): Promise<string> =>
  vi.waitFor(async () => {
    const found = (await recorded()).find((each) => each.name === name);
    if (!found) throw new Error(`${name} is not in the record.`);
    return found.cursor;
  }, WAIT);

const WAIT = { timeout: 30_000, interval: 10 };

const mutate = (mutation: string): Promise<unknown> =>
  gateway.data(`mutation { ${mutation} { ... on Error { code } } }`);

describeOnBothDatabases(() => {
  beforeAll(async () => {
    gateway = await startGateway({}, open);
  });
  afterEach(async () => {
    for (const stream of streams.splice(0)) stream.disconnect();
    await untilNoStreams(gateway);
  });
  afterAll(() => gateway.close());

  describe('a subscription', () => {
    it('to categories returns each change with the row before, after and now', async () => {
      const stream = await subscribe(
        'categoryChanged { __typename kind categoryId category { name pets { totalCount } } before { name } after { name nodeId } }',
      );
      const id = await makeCategory(gateway, 'Cats');
      const created = await changed(stream);
      expect(created).toMatchObject({
        __typename: 'CategoryChange',
        kind: 'CREATED',
        categoryId: id,
        category: { name: 'Cats', pets: { totalCount: 0 } },
        before: null,
        after: { name: 'Cats', nodeId: expect.any(String) },
      });
      await run(`delete from categories where id = ${id}`);
      expect(await changed(stream)).toMatchObject({
        kind: 'DELETED',
        category: null,
        before: { name: 'Cats' },
        after: null,
      });
    });

    it('to pets returns those of its filter, also when they come into it and leave it', async () => {
      const cats = await makeCategory(gateway);
      const stream = await subscribe(
        `petChanged(filter: { categoryId: "${cats}", status: [AVAILABLE, PENDING] }) { kind petId before { status } after { name category { id } } }`,
      );
      const dogs = await makeCategory(gateway);
      const id = await makePet(gateway, { categoryId: dogs, name: 'stays out' });
      await makePet(gateway, { categoryId: cats, name: 'sold', status: 'SOLD' });
      await mutate(`updatePet(id: "${id}", input: { categoryId: "${cats}", name: "comes" })`);
      await mutate(`updatePet(id: "${id}", input: { status: SOLD, name: "leaves" })`);
      await mutate(`updatePet(id: "${id}", input: { name: "is out" })`);
      await mutate(`updatePet(id: "${id}", input: { status: PENDING, name: "comes again" })`);
      await mutate(`deletePet(id: "${id}")`);
      const kinds: unknown[] = [];
      for (let count = 0; count < 4; count += 1) {
        const { kind, petId, after } = await changed(stream);
        expect(petId).toBe(id);
        kinds.push([kind, after?.name]);
      }
      expect(kinds).toEqual([
        ['UPDATED', 'comes'],
        ['UPDATED', 'leaves'],
        ['UPDATED', 'comes again'],
        ['DELETED', undefined],
      ]);
    });

    it('to pets returns those with one of some ids', async () => {
      const categoryId = await makeCategory(gateway);
      const ids = [await makePet(gateway, { categoryId }), await makePet(gateway, { categoryId })];
      const list = ids.map((id) => `"00${id}"`).join();
      const stream = await subscribe(`petChanged(filter: { ids: [${list}] }) { petId }`);
      await makePet(gateway, { categoryId });
      for (const id of ids) await mutate(`deletePet(id: "${id}")`);
      expect([await changed(stream), await changed(stream)]).toEqual(
        ids.map((petId) => ({ petId })),
      );
    });

    it('to the stock returns what has at most a quantity, or had', async () => {
      const petId = await makePet(gateway, { stock: 20 });
      const other = await makePet(gateway, { stock: 1 });
      const stream = await subscribe(
        `inventoryChanged(filter: { petIds: ["${petId}"], maxQuantity: 5 }) { before { quantity } after { quantity } inventoryItem { pet { name } } }`,
      );
      for (const quantity of [10, 5, 4, 9, 8, 0]) {
        await mutate(`updateInventory(petId: "${petId}", input: { quantity: ${quantity} })`);
        await mutate(`updateInventory(petId: "${other}", input: { quantity: ${quantity} })`);
      }
      const expected = [
        [10, 5],
        [5, 4],
        [4, 9],
        [8, 0],
      ];
      for (const [before, after] of expected) {
        expect(await changed(stream)).toEqual({
          before: { quantity: before },
          after: { quantity: after },
          inventoryItem: { pet: { name: 'Cleo' } },
        });
      }
    });

    it('to orders returns those of a pet, open or complete', async () => {
      const petId = await makePet(gateway, { stock: 9 });
      const other = await makePet(gateway, { stock: 9 });
      const ofPet = await subscribe(
        `orderChanged(filter: { petId: "${petId}" }) { kind orderId order { complete pet { id } } }`,
      );
      const complete = await subscribe(
        `orderChanged(filter: { complete: true }) { kind orderId after { complete } }`,
      );
      await makeOrder(gateway, other);
      const orderId = await makeOrder(gateway, petId);
      expect(await changed(ofPet)).toMatchObject({
        kind: 'CREATED',
        orderId,
        order: { pet: { id: petId } },
      });
      await mutate(`completeOrder(id: "${orderId}")`);
      // The second time nothing changes.
      await mutate(`completeOrder(id: "${orderId}")`);
      const completed = { kind: 'UPDATED', orderId, after: { complete: true } };
      expect(await changed(complete)).toEqual(completed);
      expect(await changed(ofPet)).toMatchObject({ kind: 'UPDATED', order: { complete: true } });
      await run(`delete from orders where id = ${orderId}`);
      expect(await changed(complete)).toEqual({ kind: 'DELETED', orderId, after: null });
      expect(await changed(ofPet)).toEqual({ kind: 'DELETED', orderId, order: null });
    });

    it.each(['petChanged(filter: { ids: [] })', 'petChanged(filter: { status: [] })'])(
      'with %s returns nothing, as with any empty list',
      async (field) => {
        const none = await subscribe(`${field} { petId }`);
        const some = await subscribe('petChanged { petId cursor }');
        await makePet(gateway);
        const { cursor } = await changed(some);
        // What is older was read before.
        const resumed = await subscribe(`petChanged(after: $after) { petId }`, { after: cursor });
        const petId = await makePet(gateway);
        expect(await changed(resumed)).toEqual({ petId });
        none.disconnect();
        await expect(none.event()).rejects.toThrow('aborted');
      },
    );
  });

  describe('a subscription that resumes', () => {
    it('begins after its cursor, with all that was changed since', async () => {
      for (const name of ['one', 'two', 'three']) await insert(name);
      const stream = await namesAfter(await cursorOf('one'));
      expect(await changed(stream)).toMatchObject({ after: { name: 'two' } });
      const { cursor, after } = await changed(stream);
      expect({ cursor, after }).toEqual({
        cursor: await cursorOf('three'),
        after: { name: 'three' },
      });
    });

    it('does not return again what was changed before its cursor, and is not yet read for others', async () => {
      const seenByOther: string[] = [];
      const other = await subscribe(`categoryChanged ${NAMES}`);
      const readOther = async (): Promise<void> => {
        for (;;) seenByOther.push((await changed(other)).after.name);
      };
      void readOther().catch(() => {});
      // The poll that waits now is the last one, until the clock goes on.
      vi.useFakeTimers({ toFake: ['setTimeout'] });
      await makeCategory(gateway, 'read');
      await vi.waitFor(() => expect(seenByOther).toEqual(['read']), WAIT);
      await insert('not read');
      await expect.poll(async () => (await recorded()).at(-1)?.name, WAIT).toBe('not read');
      const stream = await namesAfter((await recorded()).at(-1)?.cursor ?? '');
      await insert('new');
      const first = changed(stream);
      await vi.waitFor(() => expect(seenByOther).toContain('new'), WAIT);
      expect(seenByOther).toEqual(['read', 'not read', 'new']);
      expect(await first).toMatchObject({ after: { name: 'new' } });
      // Ends the pause that began while the clock stood.
      vi.useRealTimers();
      await makeCategory(gateway);
    });

    it('has each change once and in order, while many are made', async () => {
      await insert('start');
      const start = await cursorOf('start');
      const WRITES = 150;
      const seen: string[] = [];
      let next = 0;
      const write = async (): Promise<void> => {
        while (next < WRITES) {
          const name = `write ${(next += 1)}`;
          // Some by mutations, which are announced.
          if (next % 3 === 0) await makeCategory(gateway, name);
          else await insert(name);
        }
      };
      const read = async (): Promise<void> => {
        let after = start;
        while (seen.length < WRITES) {
          const stream = await namesAfter(after);
          const count = Math.min(1 + (seen.length % 17), WRITES - seen.length);
          for (let index = 0; index < count; index += 1) {
            const change = await changed(stream);
            seen.push(change.after.name);
            after = change.cursor;
          }
          stream.disconnect();
        }
      };
      await Promise.all([write(), write(), write(), read()]);
      const names = (await recorded())
        .map(({ name }) => name)
        .filter((name) => name.startsWith('write'));
      expect(names).toHaveLength(WRITES);
      expect(seen).toEqual(names);
    });
  });

  it('a subscription goes on without loss after the record could not be read', async () => {
    const stream = await subscribe(`categoryChanged ${NAMES}`);
    // The first may come while the stream still reads what was older, when a failure ends it; not the second.
    for (const name of ['reached', 'reached again']) {
      await makeCategory(gateway, name);
      expect(await changed(stream)).toMatchObject({ after: { name } });
    }
    failures = 0;
    fails = true;
    await makeCategory(gateway, 'lost for now');
    await vi.waitFor(() => expect(failures).toBeGreaterThan(1), { timeout: 10_000 });
    fails = false;
    await makeCategory(gateway, 'found again');
    expect(await changed(stream)).toMatchObject({ after: { name: 'lost for now' } });
    expect(await changed(stream)).toMatchObject({ after: { name: 'found again' } });
  });
});
