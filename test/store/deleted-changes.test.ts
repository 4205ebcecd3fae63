import { raw } from 'sql-template-tag';
import { beforeEach, expect, it } from 'vitest';

import { gateway, run, useGateway } from '../support/gateway.ts';
import { openEvents } from '../support/live.ts';
import { deleteChanges } from '../support/maintenance.ts';
import { makeCategory } from '../support/make.ts';
import { openWatched } from '../support/outage.ts';
import { lastCursor, untilSettled } from '../support/settled.ts';

const EXPIRED = [{ extensions: { code: 'CURSOR_EXPIRED' } }];

// Reads old changes, for a subscription or a page.
const OLD = /from settled_changes\s+where .*coalesce/s;
// Reads new changes, for all subscriptions.
const NEW = /from settled_changes\s+where \(transaction, id\) >/;

/** What happens once, right before the next statement that matches. */
let interruption: { before: RegExp; act: () => Promise<unknown> } | undefined;

const open = openWatched(async ({ text }) => {
  if (!interruption?.before.test(text)) return;
  const { act } = interruption;
  interruption = undefined;
  await act();
});

async function deleteAll(): Promise<void> {
  await untilSettled(gateway.db);
  await deleteChanges(gateway);
}

useGateway({}, open);

/** The oldest cursor. More changes follow than are kept in memory. */
let after: string;
beforeEach(async () => {
  await makeCategory(gateway, 'start');
  await deleteAll();
  after = await lastCursor(gateway);
  await run(`insert into categories (name) select 'old' from generate_series(1, 1500)`);
  await untilSettled(gateway.db);
});

it('eighty subscriptions that resume after the oldest cursor while changes are deleted receive all changes or CURSOR_EXPIRED', async () => {
  const rows = await gateway.db.query<{ id: bigint }>(
    raw(`select id from categories where name = 'old' order by id desc limit 1500`),
  );
  // One of the first, one that is in memory, and the last.
  const ids = [rows[1490], rows[500], rows[0]].map((row) => String(row?.id));
  interruption = { before: OLD, act: deleteAll };
  const streams = await Promise.all(
    Array.from({ length: 80 }, () =>
      openEvents(
        gateway,
        `subscription ($after: String, $ids: [ID!]) {
          categoryChanged(after: $after, filter: { ids: $ids }) { categoryId } }`,
        { variables: { after, ids } },
      ),
    ),
  );
  const received = await Promise.all(
    streams.map(async (stream) => {
      const seen: unknown[] = [];
      while (seen.at(-1) !== ids.at(-1)) {
        const { data, errors } = (await stream.result()) ?? {};
        seen.push(data?.categoryChanged.categoryId ?? errors);
        if (!data) break;
      }
      stream.disconnect();
      return seen;
    }),
  );
  expect(interruption).toBeUndefined();
  for (const seen of received) {
    const isComplete = seen.at(-1) === ids.at(-1);
    const all = isComplete ? ids : [...ids.slice(0, seen.length - 1), EXPIRED];
    expect(seen).toMatchObject(all);
  }
});

it('a page after a cursor has all changes after it or CURSOR_EXPIRED if changes are deleted in the meantime', async () => {
  interruption = { before: OLD, act: deleteAll };
  const { errors } = await gateway.graphql(
    'query ($after: String) { changes(after: $after) { nodes { cursor } } }',
    { after },
  );
  expect(interruption).toBeUndefined();
  expect(errors).toMatchObject(EXPIRED);
});

it('a subscription ends with CURSOR_EXPIRED if changes that it has not received were deleted while its gateway was suspended', async () => {
  const stream = await openEvents(gateway, 'subscription { categoryChanged { after { name } } }');
  await makeCategory(gateway, 'received');
  expect((await stream.data()).categoryChanged.after.name).toBe('received');
  interruption = {
    before: NEW,
    act: async () => {
      await makeCategory(gateway, 'deleted');
      await makeCategory(gateway, 'last');
      await deleteAll();
    },
  };
  expect(await stream.rest()).toMatchObject([{ errors: EXPIRED }]);
});
