/** A change to a pet. */
export interface PetChange {
  readonly cursor: string;
  readonly kind: 'CREATED' | 'UPDATED' | 'DELETED';
  readonly petId: string;
  readonly pet: { readonly id: string; readonly name: string; readonly status: string } | null;
}

/** Changes to some pets. */
export const PET_CHANGED = `subscription PetChanged($ids: [ID!], $after: String) {
  petChanged(filter: { ids: $ids }, after: $after) { cursor kind petId pet { id name status } }
}`;

export const NAME = 'query ($id: ID!) { pet(id: $id) { id nodeId name } }';

/** Tells a caller what went wrong. */
const PROBLEM = `__typename ... on Error { code message httpStatus }`;

const PAGE_INFO = 'pageInfo { hasNextPage endCursor }';

/** A page of a root list. */
export const PETS = `query Pets($categoryId: ID!, $after: String) {
  pets(first: 2, after: $after, filter: { categoryId: $categoryId }) {
    edges { node { id name inventory { id quantity } } }
    ${PAGE_INFO}
  }
}`;

/** Groups of the same lists by different keys, and of the same lists with different filters. */
export const DASHBOARD = `query Dashboard($categoryId: ID!) {
  pets { groups(by: [STATUS]) { nodes { status count } hasMore } }
  inCategory: pets(filter: { categoryId: $categoryId }) {
    groups(by: [STATUS, CATEGORY_ID]) { nodes { status count category { id name } } }
  }
  category(id: $categoryId) { id pets { groups(by: [STATUS]) { nodes { status count } } } }
  orders {
    months: groups(by: [SHIP_DATE_MONTH]) { nodes { shipDateMonth count sum { quantity } } }
    groups(by: [COMPLETE, CATEGORY_ID]) { nodes { complete count category { id name } } }
  }
  open: orders(filter: { complete: false }) {
    groups(by: [SHIP_DATE_MONTH]) { nodes { shipDateMonth count sum { quantity } } }
  }
  inventory { groups(by: [CATEGORY_ID]) { nodes { categoryId sum { quantity } } } }
}`;

/** A page of a nested list. */
export const CATEGORY = `query Category($id: ID!, $after: String) {
  category(id: $id) {
    id
    pets(first: 2, after: $after, orderBy: { field: NAME }) {
      edges { node { id name inventory { id quantity } } }
      ${PAGE_INFO}
    }
  }
}`;

/** A pet with its stock and its orders. */
export const PET = `query Pet($id: ID!) {
  pet(id: $id) {
    id
    nodeId
    name
    status
    inventory { id quantity status }
    orders(first: 20) { edges { node { id quantity complete } } ${PAGE_INFO} }
  }
}`;

/** One row by its global id. */
export const NODE = `query Node($nodeId: ID!) {
  node(nodeId: $nodeId) { nodeId ... on Pet { id name status } }
}`;

// A pet without stock has no inventory item yet, so the cache needs the pet and the whole item.
const STOCK = `... on InventoryItem { id quantity status pet { id inventory { id } } } ${PROBLEM}`;

export const SET_STOCK = `mutation SetStock($petId: ID!, $quantity: Int!) {
  updateInventory(petId: $petId, input: { quantity: $quantity }) { ${STOCK} }
}`;

// The pet is selected because its stock and its list of orders change.
const ORDER = 'id quantity complete pet { id inventory { id quantity } }';

export const PLACE_ORDER = `mutation PlaceOrder($input: NewOrder!, $idempotencyKey: String) {
  placeOrder(input: $input, idempotencyKey: $idempotencyKey) {
    ... on Order { ${ORDER} }
    ... on InsufficientStock { available }
    ${PROBLEM}
  }
}`;
