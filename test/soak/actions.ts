import { randomUUID } from 'node:crypto';

import type { Client } from './client.ts';
import type { Journal } from './journal.ts';
import { type Ledger, type LedgerOrder, readStock } from './ledger.ts';
import { randomQuery } from './queries.ts';
import type { Random } from './random.ts';

/** What the actions of an honest caller use. */
export interface Scene {
  readonly client: Client;
  readonly ledger: Ledger;
  readonly journal: Journal;
  readonly random: Random;
  /** The pet whose stock no other caller sets. */
  readonly countedPetId: string;
  /** The ids of the orders that this caller placed. */
  readonly mine: string[];
}

type Result = { readonly result: { readonly id?: string; readonly code?: string } };

const ERROR = '... on Error { code }';

const placement = ({ petId, quantity, key }: Omit<LedgerOrder, 'state'>) => ({
  query: `mutation ($petId: ID!, $quantity: Int!, $key: String) {
    result: placeOrder(input: { petId: $petId, quantity: $quantity }, idempotencyKey: $key) {
      ... on Order { id } ${ERROR} } }`,
  variables: { petId, quantity, key },
});

function choosePlacement({ ledger, random }: Scene, key?: string) {
  return { petId: random.pick([...ledger.stocked.keys()]), quantity: random.whole(1, 5), key };
}

function acknowledge(
  { ledger, journal, mine }: Scene,
  order: Omit<LedgerOrder, 'state'>,
  { result }: Result,
): void {
  if (result.id !== undefined) {
    ledger.addOrder(result.id, { ...order, state: 'open' });
    mine.push(result.id);
  } else if (result.code !== 'INSUFFICIENT_STOCK') {
    journal.violate(`placeOrder was answered with ${result.code}.`);
  }
}

/** Places an order with a key; sends it again until a response comes. */
async function placeWithKey(scene: Scene): Promise<void> {
  const order = choosePlacement(scene, randomUUID());
  const { data } = await scene.client.graphql<Result>(placement(order));
  acknowledge(scene, order, data);
}

/** Places an order without a key; it can't be sent again. */
async function placeWithoutKey(scene: Scene): Promise<void> {
  const order = choosePlacement(scene);
  scene.ledger.unanswered += 1;
  const data = await scene.client.tryGraphql<Result>(placement(order));
  if (!data) return;
  scene.ledger.unanswered -= 1;
  acknowledge(scene, order, data);
}

/** Sends an order again that was acknowledged long ago. */
async function placeAgain({ client, ledger, journal, random, mine }: Scene): Promise<void> {
  if (mine.length === 0) return;
  const id = random.pick(mine);
  const order = ledger.orders.get(id);
  if (order?.key === undefined) return;
  const { data } = await client.graphql<Result>(placement(order));
  if (data.result.id !== id) {
    journal.violate(`Its key made order ${id} and then gave ${JSON.stringify(data.result)}.`);
  }
}

/** Completes or cancels an order that this caller placed. */
async function changeOrder({ client, ledger, journal, random, mine }: Scene): Promise<void> {
  if (mine.length === 0) return;
  const id = random.pick(mine);
  const order = ledger.orders.get(id);
  if (!order) return;
  const operation = random.pick(['cancelOrder', 'completeOrder']);
  const query = `mutation { result: ${operation}(id: "${id}") { ... on Order { id } ${ERROR} } }`;
  const { data, failures } = await client.graphql<Result>({ query });
  const cancels = operation === 'cancelOrder';
  // An earlier request without a response may have cancelled it.
  const isCancelledBefore = cancels && failures > 0 && data.result.code === 'ORDER_NOT_FOUND';
  const outcome = isCancelledBefore ? 'done' : (data.result.code ?? 'done');
  const expected = {
    open: 'done',
    complete: cancels ? 'ORDER_COMPLETE' : 'done',
    cancelled: isCancelledBefore ? 'done' : 'ORDER_NOT_FOUND',
  }[order.state];
  if (outcome !== expected) {
    journal.violate(`${operation} of ${order.state} order ${id} was answered with ${outcome}.`);
  }
  if (outcome === 'done') order.state = cancels ? 'cancelled' : 'complete';
}

/** Reads an order that this caller placed. */
async function lookUp({ client, ledger, journal, random, mine }: Scene): Promise<void> {
  if (mine.length === 0) return;
  const id = random.pick(mine);
  const order = ledger.orders.get(id);
  if (!order) return;

  const query = `{ order(id: "${id}") { quantity complete } }`;
  const { data } = await client.graphql<{
    order: { quantity: number; complete: boolean } | null;
  }>({ query });
  const seen = data.order && (data.order.complete ? 'complete' : 'open');
  if (
    (seen ?? 'cancelled') !== order.state ||
    (data.order?.quantity ?? order.quantity) !== order.quantity
  ) {
    journal.violate(`Order ${id} is ${order.state} and was read as ${JSON.stringify(data.order)}.`);
  }
}

const setStock = (petId: string, expected: number, quantity: number) => ({
  query: `mutation { result: updateInventory(petId: "${petId}", input: { quantity: ${quantity} },
    expectedQuantity: ${expected}) {
      ... on InventoryItem { quantity } ${ERROR} ... on StaleInventory { available } } }`,
});

type StockResult = { readonly result: { readonly quantity?: number; readonly available?: number } };

/** Sets the stock of the caller's own pet; only this caller sets it. */
async function setOwnStock({
  client,
  ledger,
  journal,
  random,
  countedPetId,
}: Scene): Promise<void> {
  const before = ledger.counted.get(countedPetId) ?? 0;
  const quantity = before + random.whole(1, 9);
  const { data, failures } = await client.graphql<StockResult>(
    setStock(countedPetId, before, quantity),
  );
  const { result } = data;
  const isDoneBefore = failures > 0 && result.available === quantity;
  if (result.quantity === quantity || isDoneBefore) ledger.counted.set(countedPetId, quantity);
  else journal.violate(`The stock, ${before}, was not set: ${JSON.stringify(result)}.`);
}

/** Increments a stock that other callers increment too. */
async function countUp({ client, ledger: { shared } }: Scene): Promise<void> {
  const stock = await readStock(client, shared.petId);
  shared.unanswered += 1;
  const data = await client.tryGraphql<StockResult>(setStock(shared.petId, stock, stock + 1));
  if (!data) return;
  shared.unanswered -= 1;
  if (data.result.quantity === stock + 1) shared.acknowledged += 1;
}

/** Creates a pet with a key; sometimes sends an old request again. */
async function createPet({ client, ledger, journal, random }: Scene): Promise<void> {
  const isOld = ledger.pets.size > 0 && random.chance(0.3);
  const key = isOld ? random.pick([...ledger.pets.keys()]) : randomUUID();
  const query = `mutation ($key: String!, $categoryId: ID!) {
    result: createPet(input: { name: $key, categoryId: $categoryId }, idempotencyKey: $key) {
      ... on Pet { id } ${ERROR} } }`;
  const variables = { key, categoryId: ledger.petCategoryId };
  const { data } = await client.graphql<Result>({ query, variables });
  const { id } = data.result;
  const known = ledger.pets.get(key);
  if (id === undefined || (known !== undefined && known !== id)) {
    journal.violate(`A key made pet ${known} and then gave ${JSON.stringify(data.result)}.`);
  } else ledger.pets.set(key, id);
}

async function readAtRandom({ client, random }: Scene): Promise<void> {
  await client.graphql({ query: randomQuery(random) });
}

async function rest({ client, ledger, random }: Scene): Promise<void> {
  const petId = random.pick([...ledger.stocked.keys()]);
  const after = random.whole(0, ledger.orders.size);
  await client.rest(
    random.pick([`/pets/${petId}`, `/store/orders?limit=${random.whole(1, 200)}&after=${after}`]),
  );
}

/** The actions of honest callers; one that is listed more often is chosen more often. */
export const ACTIONS: readonly ((scene: Scene) => Promise<void>)[] = [
  placeWithKey,
  placeWithKey,
  placeWithKey,
  placeWithoutKey,
  placeAgain,
  changeOrder,
  changeOrder,
  lookUp,
  setOwnStock,
  countUp,
  createPet,
  readAtRandom,
  readAtRandom,
  readAtRandom,
  rest,
];
