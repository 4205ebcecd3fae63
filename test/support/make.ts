import type { Gateway } from './gateway.ts';

const ERROR = '... on Error { code message }';

/** Makes a category and gives its id. */
export async function makeCategory(gateway: Gateway, name = 'Cats'): Promise<string> {
  const { createCategory } = await gateway.data(
    `mutation ($name: String!) { createCategory(input: { name: $name }) { ... on Category { id } ${ERROR} } }`,
    { name },
  );
  return createCategory.id;
}

interface PetOptions {
  name?: string;
  categoryId?: string;
  status?: 'AVAILABLE' | 'PENDING' | 'SOLD';
  /** Units in stock; no inventory entry if left out. */
  stock?: number;
}

/** Makes a pet, in a category of its own unless one is given, and gives its id. */
export async function makePet(gateway: Gateway, options: PetOptions = {}): Promise<string> {
  const { name = 'Cleo', status = 'AVAILABLE', stock } = options;
  const categoryId = options.categoryId ?? (await makeCategory(gateway));
  const { createPet } = await gateway.data(
    `mutation ($input: NewPet!) { createPet(input: $input) { ... on Pet { id } ${ERROR} } }`,
    { input: { name, categoryId, status } },
  );
  if (stock !== undefined) {
    await gateway.data(
      `mutation ($petId: ID!, $quantity: Int!) {
        updateInventory(petId: $petId, input: { quantity: $quantity }) { ${ERROR} }
      }`,
      { petId: createPet.id, quantity: stock },
    );
  }
  return createPet.id;
}

interface OrderOptions {
  quantity?: number;
  shipDate?: string;
  complete?: boolean;
}

/** Orders units of a pet that has them in stock, and gives the order's id. */
export async function makeOrder(
  gateway: Gateway,
  petId: string,
  { quantity = 1, shipDate, complete }: OrderOptions = {},
): Promise<string> {
  const { placeOrder } = await gateway.data(
    `mutation ($input: NewOrder!) { placeOrder(input: $input) { ... on Order { id } ${ERROR} } }`,
    { input: { petId, quantity, shipDate } },
  );
  if (complete) {
    await gateway.data(`mutation ($id: ID!) { completeOrder(id: $id) { ${ERROR} } }`, {
      id: placeOrder.id,
    });
  }
  return placeOrder.id;
}

/** The units of a pet in stock. */
export async function stockOf(gateway: Gateway, petId: string): Promise<number> {
  const { inventoryItem } = await gateway.data(
    'query ($petId: ID!) { inventoryItem(petId: $petId) { quantity } }',
    { petId },
  );
  return inventoryItem.quantity;
}
