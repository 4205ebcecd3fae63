/** An operation and its number of SQL statements, which test/store/statements.test.ts checks. */
export interface Cost {
  readonly operation: string;
  /** A GraphQL document, with the number of rows as `$first`, or a REST path. */
  readonly request: string;
  /** The number of SQL statements for any number of rows, without BEGIN and COMMIT. */
  readonly statements: number;
}

const page = (fields: string): string => `query ($first: Int!) { ${fields} }`;
const change = (fields: string): string =>
  `mutation { ${fields} { __typename ... on Error { message } } }`;
const twentyPets = Array.from(
  { length: 20 },
  (_, index) => `p${index}: pet(id: ${1 + index}) { id }`,
);

export const COSTS: readonly Cost[] = [
  { operation: '20 pets, each by its id', request: `{ ${twentyPets.join(' ')} }`, statements: 1 },
  {
    operation: 'inventoryItem with status and pet',
    request: '{ inventoryItem(petId: 1) { quantity status pet { name } } }',
    statements: 2,
  },
  { operation: 'node', request: '{ node(nodeId: "Pet_1") { nodeId } }', statements: 1 },
  {
    operation: 'nodes of two types',
    request: '{ nodes(nodeIds: ["Pet_1", "Pet_2", "Order_1"]) { nodeId } }',
    statements: 2,
  },
  {
    operation: 'pets, filtered, ordered, after a cursor',
    request: page(`pets(
      first: $first, after: "WyJOQU1FIiwiMSIsIlBldCAwIl0", orderBy: { field: NAME },
      filter: { status: [AVAILABLE], categoryId: 1, name: "pet" }
    ) { pageInfo { hasNextPage endCursor } nodes { name } }`),
    statements: 1,
  },
  {
    operation: 'changes, counted',
    request: page('changes(first: $first) { totalCount nodes { kind } }'),
    statements: 2,
  },
  {
    operation: 'pets with category and stock',
    request: page('pets(first: $first) { nodes { category { name } inventory { quantity } } }'),
    statements: 3,
  },
  {
    operation: 'pets with the quantity that can be ordered',
    request: page('pets(first: $first) { nodes { availableQuantity canBeOrdered } }'),
    statements: 2,
  },
  {
    operation: 'inventory with status and pet',
    request: page('inventory(first: $first) { nodes { status pet { name } } }'),
    statements: 2,
  },
  {
    operation: 'orders with pet and category',
    request: page('orders(first: $first) { nodes { quantity pet { name category { name } } } }'),
    statements: 2,
  },
  {
    operation: 'pets of categories, counted',
    request: page('categories(first: $first) { nodes { pets { totalCount nodes { name } } } }'),
    statements: 3,
  },
  {
    operation: 'orders of pets, counted',
    request: page('pets(first: $first) { nodes { orders { totalCount nodes { quantity } } } }'),
    statements: 3,
  },
  {
    operation: 'categories with pets with stock and orders',
    request: page(`categories(first: $first) {
      nodes { pets(first: 3) { nodes { inventory { quantity } orders(last: 1) { nodes { id pet { name } } } } } }
    }`),
    statements: 5,
  },
  {
    operation: 'updateInventory',
    request: change('updateInventory(petId: 1, input: { quantity: 9 })'),
    statements: 1,
  },
  {
    operation: 'updateInventory with expectedQuantity',
    request: change('updateInventory(petId: 1, input: { quantity: 9 }, expectedQuantity: 9)'),
    statements: 1,
  },
  {
    operation: 'adjustInventory, a delivery',
    request: change('adjustInventory(petId: 2, by: 3)'),
    statements: 1,
  },
  {
    operation: 'adjustInventory with an idempotency key',
    request: change('adjustInventory(petId: 2, by: 3, idempotencyKey: "delivery-1")'),
    statements: 3,
  },
  {
    operation: 'placeOrder',
    request: change('placeOrder(input: { petId: 1, quantity: 1 })'),
    statements: 1,
  },
  {
    operation: 'placeOrder with an idempotency key',
    request: change('placeOrder(input: { petId: 1, quantity: 1 }, idempotencyKey: "order-1")'),
    statements: 3,
  },
  {
    operation: 'placeOrder with the same key again',
    request: change('placeOrder(input: { petId: 1, quantity: 1 }, idempotencyKey: "order-1")'),
    statements: 1,
  },
  {
    operation: 'placeOrders, each with its pet',
    request: `mutation {
      placeOrders(input: [{ petId: 4, quantity: 1 }, { petId: 5, quantity: 1 }, { petId: 4, quantity: 1 }]) {
        __typename ... on PlacedOrders { orders { id pet { name } } } ... on Error { message } } }`,
    statements: 1,
  },
  {
    operation: 'updateInventories',
    request: change(
      'updateInventories(input: [{ petId: 21, quantity: 9, expectedQuantity: 9 }, { petId: 22, quantity: 9 }])',
    ),
    statements: 1,
  },
  {
    operation: 'adjustInventories',
    request: change('adjustInventories(input: [{ petId: 4, by: 3 }, { petId: 5, by: -1 }])'),
    statements: 1,
  },
  {
    operation: 'rescheduleOrder',
    request: change('rescheduleOrder(id: 1, shipDate: "2100-12-01T09:00:00Z")'),
    statements: 1,
  },
  { operation: 'completeOrder', request: change('completeOrder(id: 2)'), statements: 1 },
  {
    operation: 'cancelOrder with the stock',
    request: `mutation {
      cancelOrder(id: 3) { ... on CancelledOrder { id inventory { quantity } } ... on Error { message } } }`,
    statements: 1,
  },
  { operation: 'GET /pets/{petId}', request: '/pets/1', statements: 1 },
  {
    operation: 'GET /store/orders, a page of up to 1,000',
    request: '/store/orders?limit=1000',
    statements: 1,
  },
];
