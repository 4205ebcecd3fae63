const PAGE = 'totalCount pageInfo { hasNextPage endCursor }';

/** A list that is shown page by page, and the path of its pages in the data. */
export interface ShownList {
  readonly text: string;
  readonly path: readonly string[];
}

const PETS = `edges { node { id name status inventory { id quantity } } } ${PAGE}`;
const ORDERS = `edges { node { id quantity complete shipDate } } ${PAGE}`;

/** Lists of each kind. The writes below can change their rows or the order of the rows. */
export const SHOWN_LISTS: Readonly<Record<string, ShownList>> = {
  'categories by name': {
    text: `query Categories($prefix: String!, $after: String) {
      categories(first: 2, after: $after, filter: { name: $prefix }, orderBy: { field: NAME }) {
        edges { node { id name } } ${PAGE}
      }
    }`,
    path: ['categories'],
  },
  'available pets': {
    text: `query Available($categoryId: ID!, $after: String) {
      pets(first: 2, after: $after, filter: { categoryId: $categoryId, status: [AVAILABLE] }, orderBy: { field: NAME }) { ${PETS} }
    }`,
    path: ['pets'],
  },
  'pets in stock': {
    text: `query InStock($categoryId: ID!, $after: String) {
      pets(first: 2, after: $after, filter: { categoryId: $categoryId, inStock: true }) { ${PETS} }
    }`,
    path: ['pets'],
  },
  'pets of a category': {
    text: `query CategoryPets($categoryId: ID!, $after: String) {
      category(id: $categoryId) { id pets(first: 2, after: $after, orderBy: { field: NAME }) { ${PETS} } }
    }`,
    path: ['category', 'pets'],
  },
  'the stock by quantity': {
    text: `query Stock($categoryId: ID!, $after: String) {
      inventory(first: 2, after: $after, filter: { categoryId: $categoryId, status: [AVAILABLE] }, orderBy: { field: QUANTITY }) {
        edges { node { id quantity status } } ${PAGE}
      }
    }`,
    path: ['inventory'],
  },
  'open orders by date': {
    text: `query Orders($petId: ID!, $after: String) {
      orders(first: 2, after: $after, filter: { petId: $petId, complete: false }, orderBy: { field: SHIP_DATE }) { ${ORDERS} }
    }`,
    path: ['orders'],
  },
  'orders of available pets': {
    text: `query AvailableOrders($petId: ID!, $after: String) {
      orders(first: 2, after: $after, filter: { petId: $petId, petStatus: [AVAILABLE] }) { ${ORDERS} }
    }`,
    path: ['orders'],
  },
  'orders of a pet': {
    text: `query PetOrders($petId: ID!, $after: String) {
      pet(id: $petId) { id orders(first: 2, after: $after) { ${ORDERS} } }
    }`,
    path: ['pet', 'orders'],
  },
};

/** The rows stored by a test: three pages for each list. */
export interface Stored {
  readonly prefix: string;
  /** An empty category on the second page of categories. */
  readonly emptyId: string;
  readonly categoryId: string;
  /** Another category. */
  readonly otherId: string;
  /** The pet with the orders. */
  readonly petId: string;
  /** A pet on the second page. */
  readonly secondId: string;
  /** An order on the second page. */
  readonly orderId: string;
}

/** A write, and the expected result. */
export interface Write {
  readonly text: (stored: Stored) => string;
  readonly result: object;
}

const STOCK = '... on InventoryItem { id quantity status pet { id inventory { id } } }';
const ORDER = '... on Order { id quantity complete shipDate pet { id inventory { id quantity } } }';
const PET = '... on Pet { id name status inventory { id quantity status } }';

const write = (text: (stored: Stored) => string, __typename: string): Write => ({
  // urql omits fields that are not selected.
  text: (stored) => `mutation { result: ${text(stored).replace(/}$/, '__typename }')} }`,
  result: { __typename },
});

/** Every write that can move a row into, out of or within a list. */
export const WRITES: Readonly<Record<string, Write>> = {
  createCategory: write(
    ({ prefix }) =>
      `createCategory(input: { name: "${prefix} A" }) { ... on Category { id name } }`,
    'Category',
  ),
  updateCategory: write(
    ({ prefix, emptyId }) =>
      `updateCategory(id: "${emptyId}", input: { name: "${prefix} Z" }) { ... on Category { id name } }`,
    'Category',
  ),
  deleteCategory: write(
    ({ emptyId }) => `deleteCategory(id: "${emptyId}") { ... on DeletedCategory { id } }`,
    'DeletedCategory',
  ),
  createPet: write(
    ({ categoryId }) =>
      `createPet(input: { name: "Abe", categoryId: "${categoryId}", quantity: 9 }) { ${PET} }`,
    'Pet',
  ),
  'updatePet with a status': write(
    ({ secondId }) => `updatePet(id: "${secondId}", input: { status: SOLD }) { ${PET} }`,
    'Pet',
  ),
  'updatePet with a category': write(
    ({ secondId, otherId }) =>
      `updatePet(id: "${secondId}", input: { categoryId: "${otherId}" }) { ${PET} }`,
    'Pet',
  ),
  'updatePet of a pet with orders': write(
    ({ petId }) => `updatePet(id: "${petId}", input: { status: PENDING }) { ${PET} }`,
    'Pet',
  ),
  createPets: write(
    ({ categoryId }) =>
      `createPets(input: [{ name: "Abe", categoryId: "${categoryId}" }]) { ... on CreatedPets { pets { id name } } }`,
    'CreatedPets',
  ),
  updatePets: write(
    ({ petId, secondId }) => `updatePets(input: [
        { id: "${petId}", name: "Zoe" }
        { id: "${secondId}", status: SOLD }
      ]) { ... on UpdatedPets { pets { id name status inventory { id quantity status } } } }`,
    'UpdatedPets',
  ),
  updateInventories: write(
    ({ secondId }) =>
      `updateInventories(input: [{ petId: "${secondId}", quantity: 0 }]) { ... on UpdatedInventories { inventory { id quantity } } }`,
    'UpdatedInventories',
  ),
  adjustInventories: write(
    ({ secondId }) =>
      `adjustInventories(input: [{ petId: "${secondId}", by: 90 }]) { ... on AdjustedInventories { inventory { id quantity } } }`,
    'AdjustedInventories',
  ),
  deletePet: write(
    ({ secondId }) => `deletePet(id: "${secondId}") { ... on DeletedPet { id } }`,
    'DeletedPet',
  ),
  updateInventory: write(
    ({ secondId }) => `updateInventory(petId: "${secondId}", input: { quantity: 0 }) { ${STOCK} }`,
    'InventoryItem',
  ),
  placeOrder: write(
    ({ petId }) =>
      `placeOrder(input: { petId: "${petId}", quantity: 2, shipDate: "2099-01-01T00:00:00Z" }) { ${ORDER} }`,
    'Order',
  ),
  placeOrders: write(
    ({ petId, secondId }) => `placeOrders(input: [
        { petId: "${petId}", quantity: 3 }
        { petId: "${secondId}", quantity: 3 }
      ]) { ... on PlacedOrders { orders { id quantity complete shipDate pet { id inventory { id quantity } } } } }`,
    'PlacedOrders',
  ),
  rescheduleOrder: write(
    ({ orderId }) =>
      `rescheduleOrder(id: "${orderId}", shipDate: "2101-01-01T00:00:00Z") { ${ORDER} }`,
    'Order',
  ),
  completeOrder: write(({ orderId }) => `completeOrder(id: "${orderId}") { ${ORDER} }`, 'Order'),
  cancelOrder: write(
    ({ orderId }) =>
      `cancelOrder(id: "${orderId}") { ... on CancelledOrder { id inventory { id quantity } } }`,
    'CancelledOrder',
  ),
};
