import type { Client } from './client.ts';
import type { Ledger } from './ledger.ts';

const FILLING_REQUESTS = 80;
const PETS_A_REQUEST = 50;
const AMPLE = 1_000_000;
const SCARCE = 40;

interface Made {
  readonly made: { readonly id: string };
}

async function makePet(client: Client, name: string, categoryId: string): Promise<string> {
  const query = `mutation { made: createPet(input: { name: "${name}", categoryId: "${categoryId}" }, idempotencyKey: "seed ${name}") { ... on Pet { id } } }`;
  return (await client.graphql<Made>({ query })).data.made.id;
}

async function makeCategory(client: Client, name: string): Promise<string> {
  const query = `mutation { made: createCategory(input: { name: "${name}" }, idempotencyKey: "seed ${name}") { ... on Category { id } } }`;
  return (await client.graphql<Made>({ query })).data.made.id;
}

async function makeStocked(
  client: Client,
  categoryId: string,
  [name, quantity]: readonly [string, number],
): Promise<string> {
  const id = await makePet(client, name, categoryId);
  await client.graphql({
    query: `mutation { updateInventory(petId: "${id}", input: { quantity: ${quantity} }) { __typename } }`,
  });
  return id;
}

/** Fills the store with the data of the callers, and a few thousand pets for searches. */
export async function fillStore(client: Client, ledger: Ledger, callers: number): Promise<void> {
  const categoryId = await makeCategory(client, 'Soaked');
  ledger.petCategoryId = await makeCategory(client, 'Made by callers');
  for (let count = 0; count < callers; count += 1) {
    // Every fourth pet has too little stock for all orders.
    const units = count % 4 === 3 ? SCARCE : AMPLE;
    const stocked = await makeStocked(client, categoryId, [`Stocked ${count}`, units]);
    ledger.stocked.set(stocked, units);
    ledger.counted.set(await makeStocked(client, categoryId, [`Counted ${count}`, 0]), 0);
  }
  ledger.shared.petId = await makeStocked(client, categoryId, ['Shared', 0]);
  const many = await makeCategory(client, 'Many');
  for (let request = 0; request < FILLING_REQUESTS; request += 1) {
    const fields = Array.from({ length: PETS_A_REQUEST }, (_, index) => {
      const name = `Ann ${(request * PETS_A_REQUEST + index).toString(36)}`;
      return `p${index}: createPet(input: { name: "${name}", categoryId: "${many}" }) { __typename }`;
    });
    await client.graphql({ query: `mutation { ${fields.join(' ')} }` });
  }
}
