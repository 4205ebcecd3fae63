import type { Gateway } from './gateway.ts';

const ERROR = '... on Error { code message }';

/** Creates a category and returns its id. */
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
  /** The units in stock; without it, there is no inventory entry. */
  stock?: number;
}

/** Creates a pet, in a new category unless one is given, and returns its id. */
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

/** Places an order for a pet that has the units in stock, and returns the id of the order. */
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

/** Returns the units of a pet in stock. */
export async function stockOf(gateway: Gateway, petId: string): Promise<number> {
  const { inventoryItem } = await gateway.data(
    'query ($petId: ID!) { inventoryItem(petId: $petId) { quantity } }',
    { petId },
  );
  return inventoryItem.quantity;
}
