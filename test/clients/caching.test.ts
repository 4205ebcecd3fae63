import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { type Data, gateway, useGateway } from '../support/gateway.ts';
import { makeCategory, makePet, mutate } from '../support/make.ts';
import { createOutage } from '../support/outage.ts';
import { CACHING, type CachingClient } from './clients.ts';
import { CATEGORY, DASHBOARD, NODE, PET, PETS, PLACE_ORDER, SET_STOCK } from './operations.ts';
import { watchFetch, type WatchedFetch } from './watched-fetch.ts';

const outage = createOutage();
useGateway({}, outage.open);

const nodesOf = (list: Data): Data[] => list?.edges.map(({ node }: { node: Data }) => node) ?? [];
const namesOf = (list: Data): string[] => nodesOf(list).map(({ name }) => name);
const stocksOf = (list: Data): number[] =>
  nodesOf(list).map(({ inventory }) => inventory?.quantity);

/** Creates a category with pets of these names, each with 5 in stock. */
async function makePets(...names: string[]): Promise<{ categoryId: string; ids: string[] }> {
  const categoryId = await makeCategory(gateway);
  const ids: string[] = [];
  for (const name of names) ids.push(await makePet(gateway, { name, categoryId, stock: 5 }));
  return { categoryId, ids };
}

describe.each(CACHING)('%s', (_name, connect) => {
  let create: Awaited<ReturnType<typeof connect>>;
  beforeAll(async () => {
    create = await connect(gateway);
  });

  let client: CachingClient;
  let watched: WatchedFetch;
  beforeEach(() => {
    watched = watchFetch();
    client = create(watched);
  });
  afterEach(() => client.stop());

  it('updates a row everywhere when it is reloaded by its nodeId', async () => {
    const { categoryId, ids } = await makePets('Ada', 'Bo');
    const [id = ''] = ids;
    await client.query(CATEGORY, { id: categoryId });
    const { pet } = await client.query(PET, { id });
    await mutate(gateway, 'updatePet', { id, input: { name: 'Zoe' } });
    await client.query(NODE, { nodeId: pet.nodeId });
    const { category } = await client.query(CATEGORY, { id: categoryId });
    expect(namesOf(category.pets)).toEqual(['Zoe', 'Bo']);
    expect((await client.query(PET, { id })).pet.name).toBe('Zoe');
    expect(watched.methods).toHaveLength(3);
  });

  it("shows a pet's new stock everywhere after a mutation has set it", async () => {
    const categoryId = await makeCategory(gateway);
    const petId = await makePet(gateway, { categoryId });
    const pets = await client.show(PETS, { categoryId });
    const category = await client.show(CATEGORY, { id: categoryId });
    const pet = await client.show(PET, { id: petId });
    expect(pet.data.pet.inventory).toBeNull();
    await client.mutate(SET_STOCK, { petId, quantity: 3 });
    await expect.poll(() => stocksOf(pets.data?.pets)).toEqual([3]);
    await expect.poll(() => stocksOf(category.data?.category.pets)).toEqual([3]);
    expect(pet.data.pet.inventory.quantity).toBe(3);
  });

  it('keeps the groups of a list apart, by their keys and by the filter of the list, and apart from its rows', async () => {
    const { categoryId } = await makePets('Ada', 'Bo');
    await makePet(gateway, { status: 'SOLD' });
    const groups = await client.query(DASHBOARD, { categoryId });
    expect(groups).toMatchObject(await gateway.data(DASHBOARD, { categoryId }));
    const { pets } = await client.query(PETS, { categoryId });
    expect(namesOf(pets)).toEqual(['Ada', 'Bo']);
    expect(await client.query(DASHBOARD, { categoryId })).toEqual(groups);
    expect(watched.methods).toHaveLength(2);
  });

  it('does not repeat a write without an idempotency key if the response is lost', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    watched.loseNext();
    const { error } = await client.mutate(PLACE_ORDER, { input: { petId, quantity: 2 } });
    expect(error?.message).toContain('fetch failed');
    expect(watched.methods).toEqual(['POST']);
  });

  it('returns a placed order even if its pet cannot be read afterwards', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const { data, error } = await outage.during(() =>
      client.mutate(PLACE_ORDER, { input: { petId, quantity: 2 } }),
    );
    expect(data.placeOrder).toMatchObject({ __typename: 'Order', quantity: 2 });
    expect(error?.message).toContain('The service is unavailable');
    gateway.loggedErrors.length = 0;
  });
});
