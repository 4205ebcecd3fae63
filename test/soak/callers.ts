import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Client } from './client.ts';
import type { Journal } from './journal.ts';
import type { Ledger, LedgerOrder } from './ledger.ts';
import { pick, whole } from './random.ts';

const CALLERS = 12;
const MAX_THOUGHT_MS = 80;

interface Scene {
  readonly client: Client;
  readonly ledger: Ledger;
  readonly journal: Journal;
  readonly mine: string[];
}

type Placement = Omit<LedgerOrder, 'state'>;
type Result = { readonly result: { readonly id?: string; readonly code?: string } };

const ERROR = '... on Error { code }';

const placement = ({ petId, quantity, key }: Placement) => ({
  query: `mutation ($petId: ID!, $quantity: Int!, $key: String) {
    result: placeOrder(input: { petId: $petId, quantity: $quantity }, idempotencyKey: $key) {
      ... on Order { id } ${ERROR} } }`,
  variables: { petId, quantity, key },
});

/** Places an order with a key, and repeats the request until it gets a response without errors. */
async function place({ client, ledger, journal, mine }: Scene): Promise<void> {
  const petId = pick([...ledger.stocked.keys()]);
  const order = { petId, quantity: whole(1, 5), key: randomUUID() };
  const { result } = (await client.graphql<Result>(placement(order))).data;
  if (result.id !== undefined) {
    ledger.addOrder(result.id, { ...order, state: 'open' });
    mine.push(result.id);
  } else if (result.code !== 'INSUFFICIENT_STOCK') {
    journal.violate(`placeOrder returned ${result.code}.`);
  }
}

function chooseMine({ ledger, mine }: Scene): { id: string; order: LedgerOrder } | undefined {
  if (mine.length === 0) return undefined;
  const id = pick(mine);
  const order = ledger.orders.get(id);
  return order && { id, order };
}

async function placeAgain(scene: Scene): Promise<void> {
  const { id, order } = chooseMine(scene) ?? {};
  if (!order) return;
  const { data } = await scene.client.graphql<Result>(placement(order));
  if (data.result.id !== id) {
    scene.journal.violate(`The key of order ${id} later returned ${JSON.stringify(data.result)}.`);
  }
}

async function changeOrder(scene: Scene): Promise<void> {
  const { id, order } = chooseMine(scene) ?? {};
  if (!order) return;
  const operation = pick(['cancelOrder', 'completeOrder']);
  const query = `mutation { result: ${operation}(id: "${id}") { __typename ${ERROR} } }`;
  const { data, failures } = await scene.client.graphql<Result>({ query });
  const cancels = operation === 'cancelOrder';
  // An earlier attempt without a response may have cancelled the order.
  const isCancelledBefore = cancels && failures > 0 && data.result.code === 'ORDER_NOT_FOUND';
  const outcome = isCancelledBefore ? 'done' : (data.result.code ?? 'done');
  const expected = {
    open: 'done',
    complete: cancels ? 'ORDER_COMPLETE' : 'done',
    cancelled: isCancelledBefore ? 'done' : 'ORDER_NOT_FOUND',
  }[order.state];
  if (outcome !== expected) {
    scene.journal.violate(`${operation} of ${order.state} order ${id} returned ${outcome}.`);
  }
  if (outcome === 'done') order.state = cancels ? 'cancelled' : 'complete';
}

async function readLists({ client }: Scene): Promise<void> {
  const page = `first: ${whole(1, 8)}, orderBy: { field: NAME, direction: DESC }`;
  const query = `{ categories(${page}) { nodes { name pets(${page}) { nodes { id inventory { quantity } } } } }
    orders(last: 8) { totalCount nodes { complete pet { name } } } }`;
  await client.graphql({ query });
}

// Actions that are listed more than once are chosen more often.
const ACTIONS = [place, place, place, placeAgain, changeOrder, changeOrder, readLists];

/** Starts honest callers, each with one request at a time; returns a function that stops them after their last responses. */
export function startCallers(client: Client, ledger: Ledger, journal: Journal) {
  const end = new AbortController();
  const call = async (): Promise<void> => {
    const scene: Scene = { client, ledger, journal, mine: [] };
    while (!end.signal.aborted) {
      try {
        await pick(ACTIONS)(scene);
      } catch (error) {
        journal.violate(error instanceof Error ? (error.stack ?? '') : String(error));
      }
      await sleep(whole(0, MAX_THOUGHT_MS));
    }
  };
  const callers = Array.from({ length: CALLERS }, call);
  return async (): Promise<void> => {
    end.abort();
    await Promise.all(callers);
  };
}
