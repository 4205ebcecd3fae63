import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { post } from '../support/post.ts';
import { always, type Fault, repeat, type World } from './fault.ts';

// More than are admitted.
const COSTLY_AT_ONCE = 300;
const CATCHING_UP_AT_ONCE = 20;
const MAX_CATCHING_UP_MS = 1000;
// Not the address of the honest callers: without tokens, an address identifies a caller.
const ADDRESS = '127.0.0.2';

const FIELDS = Array.from({ length: 43 }, (_, index) => `a${index}: id`).join(' ');

/** A subscription of which each result costs nearly as much as is allowed, and that shares none. */
const costly = (name: string): string =>
  `subscription { orderChanged { ${name}: kind order { pet { orders(first: 100) { nodes { ${FIELDS} } } } } } }`;

/** Subscribes and reads all results; returns the function that ends the subscription. */
function subscribe({ gateway }: World, query: string): () => void {
  const sent = request(`${gateway.url}/graphql`, {
    method: 'POST',
    agent: false,
    localAddress: ADDRESS,
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
  });
  // Another fault may be active, or the subscription is not admitted.
  sent.on('error', () => {}).on('response', (response) => response.on('error', () => {}).resume());
  sent.end(JSON.stringify({ query }));
  return () => sent.destroy();
}

/** Subscribes after the oldest cursor, with a filter that nothing matches. */
async function catchUp(world: World): Promise<void> {
  try {
    const query = '{ changes(first: 1) { pageInfo { endCursor } } }';
    const response = await post(world.gateway, { query });
    const body = (await response.json()) as {
      data: { changes: { pageInfo: { endCursor: string } } };
    };
    const { endCursor } = body.data.changes.pageInfo;
    const end = subscribe(
      world,
      `subscription { orderChanged(after: "${endCursor}", filter: { petId: "0" }) { kind } }`,
    );
    await sleep(world.random.whole(0, MAX_CATCHING_UP_MS));
    end();
  } catch {
    await sleep(100);
  }
}

/** Bad neighbours that subscribe. */
export const SUBSCRIBERS: readonly Fault[] = [
  {
    name: 'costly subscriptions',
    target: 'neighbour',
    disturbs: false,
    isPossible: always,
    start: (world) => {
      const ends = Array.from({ length: COSTLY_AT_ONCE }, (_, index) =>
        subscribe(world, costly(`s${index}`)),
      );
      return () => {
        for (const end of ends) end();
      };
    },
  },
  {
    name: 'subscriptions after the oldest cursor',
    target: 'neighbour',
    disturbs: false,
    isPossible: always,
    start: (world) => repeat(CATCHING_UP_AT_ONCE, () => catchUp(world)),
  },
];
