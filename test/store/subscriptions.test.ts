import sql from 'sql-template-tag';
import { beforeEach, describe, expect, it, vi } from 'vitest';

import { gateway, type OpenDatabase, run, useGateway } from '../support/gateway.ts';
import { changed, type EventStream, follow, untilNoStreams } from '../support/live.ts';
import { makeCategory, makePet, mutate } from '../support/make.ts';
import { createOutage } from '../support/outage.ts';
import { lastCursor, untilSettled } from '../support/settled.ts';

const outage = createOutage();
/** For subscriptions that resume: the changes read, the statements running, and the most that ran at a time. */
const catchUp = { changes: 0, running: 0, mostRunning: 0 };

const open: OpenDatabase = async (config, log) => {
  const db = await outage.open(config, log);
  return {
    ...db,
    query: async (statement, ...how) => {
      // Only the statements of subscriptions that resume have this form.
      if (!/from settled_changes\s+where type /.test(statement.text)) {
        return db.query(statement, ...how);
      }
      catchUp.running += 1;
      catchUp.mostRunning = Math.max(catchUp.mostRunning, catchUp.running);
      const rows = await db.query<never>(statement, ...how);
      catchUp.running -= 1;
      if (statement.text.includes('changed_at')) catchUp.changes += rows.length;
      return rows;
    },
  };
};

const insert = (name: string): Promise<unknown> =>
  run(`insert into categories (name) values ('${name}')`);

/** Runs `work` while reading the change log fails, and waits until at least two reads have failed. */
function whileFailing(work: () => Promise<unknown>): Promise<void> {
  let failures = 0;
  return outage.during(
    async () => {
      await work();
      await vi.waitFor(() => expect(failures).toBeGreaterThan(1), { timeout: 10_000 });
    },
    (isRead, text) => isRead && text.includes('changes') && (failures += 1) > 0,
  );
}

const subscribe = (field: string, after?: string) => follow(gateway, field, after);

const NAMES = '{ cursor after { name } }';

const namesAfter = (after: string): Promise<EventStream> =>
  subscribe(`categoryChanged(after: $after) ${NAMES}`, after);

const WAIT = { timeout: 30_000, interval: 10 };

useGateway({}, open);
beforeEach(() => untilNoStreams(gateway));

describe('a subscription', () => {
  it('returns changes to objects of several types in one sequence, and can resume from a cursor with other types', async () => {
    const live = await subscribe('changed(types: [CATEGORY, PET]) { __typename cursor kind }');
    const all = await subscribe('changed { __typename }');
    await makePet(gateway, { stock: 1 });
    const first = await changed(live);
    expect(first).toMatchObject({ __typename: 'CategoryChange', kind: 'CREATED' });
    expect(await changed(live)).toMatchObject({ __typename: 'PetChange', kind: 'CREATED' });
    const names = ['CategoryChange', 'PetChange', 'InventoryItemChange'];
    for (const name of names) expect(await changed(all)).toEqual({ __typename: name });
    const field = 'changed(types: [PET, ORDER], after: $after) { __typename }';
    const later = await subscribe(field, first.cursor);
    expect(await changed(later)).toEqual({ __typename: 'PetChange' });
  });

  it('returns changes to pets that match its filter, or that start or stop matching it', async () => {
    const cats = await makeCategory(gateway);
    const stream = await subscribe(
      `petChanged(filter: { categoryId: "${cats}", status: [AVAILABLE, PENDING] }) { kind petId before { status } after { name category { id } } }`,
    );
    const dogs = await makeCategory(gateway);
    const id = await makePet(gateway, { categoryId: dogs, name: 'stays out' });
    await makePet(gateway, { categoryId: cats, name: 'sold', status: 'SOLD' });
    for (const input of [
      { categoryId: cats, name: 'comes' },
      { status: 'SOLD', name: 'leaves' },
      { name: 'is out' },
      { status: 'PENDING', name: 'comes again' },
    ]) {
      await mutate(gateway, 'updatePet', { id, input });
    }
    await mutate(gateway, 'deletePet', { id });
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
});

describe('a subscription that resumes', () => {
  it('does not repeat changes before its cursor, even if no other stream has read them', async () => {
    const seenByOther: string[] = [];
    const other = await subscribe(`categoryChanged ${NAMES}`);
    const readOther = async (): Promise<void> => {
      for (;;) seenByOther.push((await changed(other)).after.name);
    };
    void readOther().catch(() => {});
    // The pending poll is the last one until the clock runs again.
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    // With SQL, because a mutation would publish its change and cause another read.
    await insert('read');
    await vi.waitFor(() => expect(seenByOther).toEqual(['read']), WAIT);
    await insert('not read');
    const stream = await namesAfter(await lastCursor(gateway));
    await insert('new');
    const first = changed(stream);
    await vi.waitFor(() => expect(seenByOther).toContain('new'), WAIT);
    expect(seenByOther).toEqual(['read', 'not read', 'new']);
    expect(await first).toMatchObject({ after: { name: 'new' } });
    // Ends the pause that started while the clock was stopped.
    vi.useRealTimers();
    await makeCategory(gateway, 'after the pause');
    expect(await changed(stream)).toMatchObject({ after: { name: 'after the pause' } });
  });

  it('receives each change once and in order while many changes are made', async () => {
    await insert('start');
    const start = await lastCursor(gateway);
    const WRITES = 150;
    const seen: string[] = [];
    let next = 0;
    const write = async (): Promise<void> => {
      while (next < WRITES) {
        const name = `write ${(next += 1)}`;
        // Some changes are made by mutations, which publish them.
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
    const recorded = await gateway.db.query<{ name: string }>(
      sql`select after->>'name' as name from changes
          where after->>'name' like 'write%' order by transaction, id`,
    );
    expect(seen).toEqual(recorded.map(({ name }) => name));
  });

  it('waits while other subscriptions of its caller resume, and all of them succeed', async () => {
    const after = await lastCursor(gateway);
    // More changes than are kept in memory.
    await run(
      `insert into categories (name) select 'turn ' || n from generate_series(1, 1100) as n`,
    );
    catchUp.mostRunning = 0;
    const resumed = await Promise.all([1, 2, 3, 4].map(() => namesAfter(after)));
    await Promise.all(
      resumed.map(async (stream) => {
        for (let number = 1; number <= 1100; number += 1) {
          expect((await changed(stream)).after.name).toBe(`turn ${number}`);
        }
      }),
    );
    expect(catchUp.mostRunning).toBe(1);
  });
});

describe('a resumed subscription with a filter', () => {
  it('reads no changes that do not match', async () => {
    const after = await lastCursor(gateway);
    await run(`insert into categories (name) select 'read' from generate_series(1, 1200)`);
    const id = await makeCategory(gateway, 'wanted');
    // Until the changes are settled, the subscription would receive the wanted change without reading the log.
    await untilSettled(gateway.db);
    catchUp.changes = 0;
    const stream = await subscribe(
      `categoryChanged(after: $after, filter: { ids: ["${id}"] }) { categoryId }`,
      after,
    );
    expect(await changed(stream)).toEqual({ categoryId: id });
    expect(catchUp.changes).toBe(1);
  });

  it('receives each matching change once and in order, however many changes do not match', async () => {
    const after = await lastCursor(gateway);
    const categoryId = await makeCategory(gateway);
    // More changes than one statement compares with the filter. The first of them include more matching changes than
    // one statement returns.
    await run(
      `insert into pets (name, category_id, status)
        select n::text, ${categoryId}, (case when n < 700 or n in (4999, 5000, 5001, 5400) then 'sold' else 'pending' end)::pet_status
        from generate_series(1, 5500) as n`,
    );
    const stream = await subscribe(
      `petChanged(after: $after, filter: { categoryId: "${categoryId}", status: [SOLD] }) { after { name } }`,
      after,
    );
    const expected = [...Array.from({ length: 699 }, (_, n) => n + 1), 4999, 5000, 5001, 5400];
    for (const number of expected) {
      expect(await changed(stream)).toEqual({ after: { name: String(number) } });
    }
    await makePet(gateway, { categoryId, name: 'live', status: 'SOLD' });
    expect(await changed(stream)).toEqual({ after: { name: 'live' } });
  });

  it('receives changes to a row whose id is changed with SQL, both live and after a cursor', async () => {
    const petId = await makePet(gateway, { stock: 9 });
    const other = await makePet(gateway);
    const after = await lastCursor(gateway);
    const field = `inventoryChanged(after: $after, filter: { petIds: ["${petId}"] }) { before { petId } after { petId } }`;
    const live = await subscribe(field, after);
    await run(`update inventory_items set pet_id = ${other} where pet_id = ${petId}`);
    const moved = { before: { petId }, after: { petId: other } };
    expect(await changed(live)).toEqual(moved);
    expect(await changed(await subscribe(field, after))).toEqual(moved);
  });
});

it('a subscription misses no changes that are made while the change log cannot be read', async () => {
  const stream = await subscribe(`categoryChanged ${NAMES}`);
  // During the first change, the stream may still read older changes, and a failure would close it.
  for (const name of ['reached', 'reached again']) {
    await makeCategory(gateway, name);
    expect(await changed(stream)).toMatchObject({ after: { name } });
  }
  await whileFailing(() => makeCategory(gateway, 'lost for now'));
  await makeCategory(gateway, 'found again');
  expect(await changed(stream)).toMatchObject({ after: { name: 'lost for now' } });
  expect(await changed(stream)).toMatchObject({ after: { name: 'found again' } });
});

it('a subscription ends with CURSOR_EXPIRED if a failover has lost the last change that it returned', async () => {
  const stream = await subscribe(`categoryChanged ${NAMES}`);
  for (const name of ['kept', 'lost']) {
    await makeCategory(gateway, name);
    expect(await changed(stream)).toMatchObject({ after: { name } });
  }
  await whileFailing(async () => {
    await makeCategory(gateway, 'lost, too');
    await run(`delete from changes where after->>'name' like 'lost%'`);
  });
  await makeCategory(gateway, 'in its place');
  expect(await stream.result()).toMatchObject({
    errors: [{ extensions: { code: 'CURSOR_EXPIRED' } }],
  });
});
