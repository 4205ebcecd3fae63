const PAGE = 'totalCount pageInfo { hasNextPage endCursor }';

/** A list that is shown page by page, and the path of its pages in the data. */
export interface ShownList {
  readonly text: string;
  readonly path: readonly string[];
}

const PET_ROW = 'id name status inventory { id quantity }';
const ORDER_ROW = 'id quantity complete shipDate';
const CATEGORY_ID = '$categoryId: ID!';
const PET_ID = '$petId: ID!';

/** The groups that are shown above a list, by the name of its field. */
const GROUPS: Readonly<Record<string, string>> = {
  pets: 'groups(by: [STATUS]) { nodes { status count } }',
  inventory: 'groups(by: [CATEGORY_ID]) { nodes { categoryId count sum { quantity } } }',
  orders: `groups(by: [COMPLETE, SHIP_DATE_MONTH]) {
    nodes { complete shipDateMonth count sum { quantity } }
  }`,
};

/** A list in a field of the query, or in one of an object whose id is the variable. */
function listOf(variable: string, path: readonly string[], args: string, row: string): ShownList {
  const [outer, inner = outer] = path;
  const above = `${GROUPS[inner ?? ''] ?? ''} ${PAGE}`;
  const field = `${inner}(first: 2, after: $after ${args}) { ${above} edges { node { ${row} } } }`;
  const [id] = variable.split(':');
  const text = inner === outer ? field : `${outer}(id: ${id}) { id ${field} }`;
  return { text: `query List(${variable}, $after: String) { ${text} }`, path };
}

const BY_NAME = 'orderBy: { field: NAME }';
const OF_CATEGORY = 'filter: { categoryId: $categoryId, status: [AVAILABLE] }, orderBy:';
const STOCK_ROW = 'id quantity status';

/** Lists of each kind. The writes below can change their rows or the order of the rows. */
export const SHOWN_LISTS: readonly ShownList[] = [
  listOf('$prefix: String!', ['categories'], `filter: { name: $prefix }, ${BY_NAME}`, 'id name'),
  listOf(CATEGORY_ID, ['pets'], `${OF_CATEGORY} { field: NAME }`, PET_ROW),
  listOf(CATEGORY_ID, ['pets'], 'filter: { categoryId: $categoryId, inStock: true }', PET_ROW),
  listOf(CATEGORY_ID, ['category', 'pets'], BY_NAME, PET_ROW),
  listOf(CATEGORY_ID, ['inventory'], `${OF_CATEGORY} { field: QUANTITY }`, STOCK_ROW),
  listOf(
    PET_ID,
    ['orders'],
    'filter: { petId: $petId, complete: false }, orderBy: { field: SHIP_DATE }',
    ORDER_ROW,
  ),
  listOf(PET_ID, ['orders'], 'filter: { petId: $petId, petStatus: [AVAILABLE] }', ORDER_ROW),
  listOf(PET_ID, ['pet', 'orders'], '', ORDER_ROW),
];

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

const STOCK = '... on InventoryItem { id quantity status pet { id inventory { id } } }';
const ORDER = '... on Order { id quantity complete shipDate pet { id inventory { id quantity } } }';
const PET = '... on Pet { id name status inventory { id quantity status } }';

/** Every write that can move a row into, out of or within a list: its field, with the type of the expected result. */
export const WRITES: Readonly<Record<string, (stored: Stored) => string>> = {
  createCategory: ({ prefix }) =>
    `createCategory(input: { name: "${prefix} A" }) { ... on Category { id name } }`,
  updateCategory: ({ prefix, emptyId }) =>
    `updateCategory(id: "${emptyId}", input: { name: "${prefix} Z" }) { ... on Category { id name } }`,
  deleteCategory: ({ emptyId }) =>
    `deleteCategory(id: "${emptyId}") { ... on DeletedCategory { id } }`,
  createPet: ({ categoryId }) =>
    `createPet(input: { name: "Abe", categoryId: "${categoryId}", quantity: 9 }) { ${PET} }`,
  'updatePet with a status': ({ secondId }) =>
    `updatePet(id: "${secondId}", input: { status: SOLD }) { ${PET} }`,
  'updatePet with a category': ({ secondId, otherId }) =>
    `updatePet(id: "${secondId}", input: { categoryId: "${otherId}" }) { ${PET} }`,
  'updatePet of a pet with orders': ({ petId }) =>
    `updatePet(id: "${petId}", input: { status: PENDING }) { ${PET} }`,
  createPets: ({ categoryId }) =>
    `createPets(input: [{ name: "Abe", categoryId: "${categoryId}" }]) { ... on CreatedPets { pets { id name } } }`,
  updatePets: ({ petId, secondId }) => `updatePets(input: [
        { id: "${petId}", name: "Zoe" }
        { id: "${secondId}", status: SOLD }
      ]) { ... on UpdatedPets { pets { id name status inventory { id quantity status } } } }`,
  updateInventories: ({ secondId }) =>
    `updateInventories(input: [{ petId: "${secondId}", quantity: 0 }]) { ... on UpdatedInventories { inventory { id quantity } } }`,
  adjustInventories: ({ secondId }) =>
    `adjustInventories(input: [{ petId: "${secondId}", by: 90 }]) { ... on AdjustedInventories { inventory { id quantity } } }`,
  deletePet: ({ secondId }) => `deletePet(id: "${secondId}") { ... on DeletedPet { id } }`,
  updateInventory: ({ secondId }) =>
    `updateInventory(petId: "${secondId}", input: { quantity: 0 }) { ${STOCK} }`,
  placeOrder: ({ petId }) =>
    `placeOrder(input: { petId: "${petId}", quantity: 2, shipDate: "2099-01-01T00:00:00Z" }) { ${ORDER} }`,
  placeOrders: ({ petId, secondId }) => `placeOrders(input: [
        { petId: "${petId}", quantity: 3 }
        { petId: "${secondId}", quantity: 3 }
      ]) { ... on PlacedOrders { orders { id quantity complete shipDate pet { id inventory { id quantity } } } } }`,
  rescheduleOrder: ({ orderId }) =>
    `rescheduleOrder(id: "${orderId}", shipDate: "2101-01-01T00:00:00Z") { ${ORDER} }`,
  completeOrder: ({ orderId }) => `completeOrder(id: "${orderId}") { ${ORDER} }`,
  cancelOrder: ({ orderId }) =>
    `cancelOrder(id: "${orderId}") { ... on CancelledOrder { id inventory { id quantity } } }`,
};
