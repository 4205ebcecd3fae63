import { setTimeout as sleep } from 'node:timers/promises';

import type { Data } from '../support/gateway.ts';
import { type EventStream, openEvents } from '../support/live.ts';
import type { Client } from './client.ts';
import type { GatewayProcess } from './gateway-process.ts';
import type { Journal } from './journal.ts';
import { pick, whole } from './random.ts';

const FOLLOWERS_OF_EACH = 4;
const CUT_EVERY_MS = 500;
const MAX_WAIT_MS = 30_000;

const FIELDS = { OrderChange: 'orderChanged', InventoryItemChange: 'inventoryChanged' };
type Type = keyof typeof FIELDS;

const CHANGES = 'nodes { __typename ... on Change { cursor } } pageInfo { hasNextPage endCursor }';

/** Follows the changes of a type; subscribes again after the last cursor whenever the connection is lost. */
function follow(gateway: GatewayProcess, journal: Journal, type: Type, start: string) {
  const field = FIELDS[type];
  /** The cursors of the received changes; the caller may remove them. */
  const cursors: string[] = [];
  const closed = new AbortController();
  let after = start;
  let stream: EventStream | undefined;
  const readAll = async (): Promise<void> => {
    const args = `(after: "${after}")`;
    stream = await openEvents(gateway, `subscription { change: ${field}${args} { cursor } }`);
    for (let result = await stream.result(); result; result = await stream.result()) {
      const code = result.errors?.[0]?.extensions.code ?? 'SERVICE_UNAVAILABLE';
      if (code !== 'SERVICE_UNAVAILABLE' && code !== 'SLOW_SUBSCRIBER') {
        journal.violate(`A subscription to ${field} ended with ${code}.`);
      }
      if (!result.data) continue;
      after = result.data.change.cursor;
      cursors.push(after);
    }
  };
  const cut = (): void => stream?.disconnect();
  const run = async (): Promise<void> => {
    while (!closed.signal.aborted) {
      // Any error means a lost connection.
      await readAll().catch(() => {});
      cut();
      await sleep(whole(10, 300));
    }
  };
  void run();
  const close = (): void => {
    closed.abort();
    cut();
  };
  return { type, cursors, cut, close };
}

/**
 * Starts honest subscribers to the changes that are made from now on, whose connections are cut: each must receive each
 * change once, in the order of the change log.
 */
export async function startFollowers(gateway: GatewayProcess, client: Client, journal: Journal) {
  const readPage = async (args: string): Promise<Data> =>
    (await client.graphql<Data>({ query: `{ changes(${args}) { ${CHANGES} } }` })).data.changes;
  /** The cursor up to which changes have been compared. */
  let compared: string = (await readPage('last: 1')).pageInfo.endCursor ?? '';
  const all = (Object.keys(FIELDS) as Type[]).flatMap((type) =>
    Array.from({ length: FOLLOWERS_OF_EACH }, () => follow(gateway, journal, type, compared)),
  );
  const cutting = setInterval(() => pick(all).cut(), CUT_EVERY_MS);

  const followers = {
    received: 0,
    check: async (): Promise<void> => {
      const changes: Data[] = [];
      for (let hasMore = true; hasMore;) {
        const { nodes, pageInfo } = await readPage(`first: 100, after: "${compared}"`);
        changes.push(...nodes);
        hasMore = pageInfo.hasNextPage;
        compared = pageInfo.endCursor ?? compared;
      }
      const deadline = performance.now() + MAX_WAIT_MS;
      for (const { type, cursors } of all) {
        const expected = changes
          .filter(({ __typename }) => __typename === type)
          .map(({ cursor }) => cursor);
        while (cursors.at(-1) !== expected.at(-1) && performance.now() < deadline) await sleep(50);
        const received = cursors.splice(0);
        followers.received += received.length;
        if (received.join() === expected.join()) continue;
        const at = expected.findIndex((cursor, index) => cursor !== received[index]);
        const counts = `${received.length} of ${expected.length} changes`;
        journal.violate(`A follower of ${FIELDS[type]} has ${counts}; they differ at ${at}.`);
      }
    },
    close: (): void => {
      clearInterval(cutting);
      for (const follower of all) follower.close();
    },
  };
  return followers;
}
