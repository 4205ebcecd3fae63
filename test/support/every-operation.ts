import {
  getNamedType,
  type GraphQLArgument,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isObjectType,
  parse,
  TypeInfo,
  validate,
  visit,
  visitWithTypeInfo,
} from 'graphql';

/** Sends a document and returns its data, or that of the first change of a subscription. */
type Send = (query: string) => Promise<unknown>;

const CATEGORY = 'id name description';
const PET = `id name categoryId status category { ${CATEGORY} }`;
const STOCK = 'petId quantity status pet { id name }';
const ORDER = 'id petId quantity shipDate complete pet { id inventory { quantity } }';
const ERROR = '... on Error { code message }';
const LONG_NAME = 'n'.repeat(255);

const mutation = (call: string, fields: string): string => `mutation { ${call} { ${fields} } }`;
const toCategory = (call: string) => mutation(call, `... on Category { ${CATEGORY} } ${ERROR}`);
const toPet = (call: string) =>
  mutation(call, `... on Pet { ${PET} inventory { quantity } } ${ERROR}`);
const toStock = (call: string) => mutation(call, `... on InventoryItem { ${STOCK} } ${ERROR}`);
const toOrder = (call: string) => mutation(call, `... on Order { ${ORDER} } ${ERROR}`);
const toOrders = (call: string) =>
  mutation(call, `... on PlacedOrders { orders { ${ORDER} } } ${ERROR}`);

/**
 * Writes that need an empty store, whose ids begin with 1. Each value is at its limit at least once,
 * and each row exists twice, so that a stricter CHECK or UNIQUE shows.
 */
const FIRST_WRITES = [
  toCategory('createCategory(input: { name: "Dogs" })'),
  toCategory(
    `createCategory(input: { name: "Dogs", description: "${'d'.repeat(2000)}" }, idempotencyKey: "c1")`,
  ),
  toCategory('createCategory(input: { name: "Dogs", description: "other" }, idempotencyKey: "c1")'),
  toCategory(
    `createCategory(input: { name: "${LONG_NAME}" }, idempotencyKey: "${'k'.repeat(255)}")`,
  ),
  toCategory('createCategory(input: { name: "Cats" })'),
  toPet('createPet(input: { name: "Rex", categoryId: "1" })'),
  toPet(
    'createPet(input: { name: "Rex", categoryId: "1", status: AVAILABLE }, idempotencyKey: "p1")',
  ),
  toPet(
    'createPet(input: { name: "Rex", categoryId: "1", status: AVAILABLE }, idempotencyKey: "p1")',
  ),
  toPet(`createPet(input: { name: "${LONG_NAME}", categoryId: "2", status: PENDING })`),
  toPet('createPet(input: { name: "é 🐕", categoryId: "2", status: SOLD })'),
  toPet('createPet(input: { name: "Tom", categoryId: "99" }, idempotencyKey: "p2")'),
  toPet('createPet(input: { name: "Tom", categoryId: "4", quantity: 3 }, idempotencyKey: "p3")'),
  toStock('updateInventory(petId: "1", input: { quantity: 100 })'),
  toStock('updateInventory(petId: "1", input: { quantity: 1000 })'),
  toStock('updateInventory(petId: "2", input: { quantity: 2147483647 }, expectedQuantity: 0)'),
  toStock('updateInventory(petId: "2", input: { quantity: 5 }, expectedQuantity: 4)'),
  toStock('updateInventory(petId: "2", input: { quantity: 0 }, expectedQuantity: 2147483647)'),
  toStock('updateInventory(petId: "3", input: { quantity: 5 })'),
  toStock('updateInventory(petId: "99", input: { quantity: 5 })'),
  toStock('adjustInventory(petId: "1", by: -2)'),
  toStock('adjustInventory(petId: "1", by: 2, idempotencyKey: "a1")'),
  toStock('adjustInventory(petId: "1", by: -5000, idempotencyKey: "a2")'),
  toOrder('placeOrder(input: { petId: "1", quantity: 1 })'),
  toOrder('placeOrder(input: { petId: "1", quantity: 2, shipDate: "2027-01-31T12:00:00.123Z" })'),
  toOrder('placeOrder(input: { petId: "1", quantity: 100, shipDate: null }, idempotencyKey: "o1")'),
  toOrder('placeOrder(input: { petId: "1", quantity: 100 }, idempotencyKey: "o2")'),
  toOrder('placeOrder(input: { petId: "1", quantity: 100 }, idempotencyKey: "o2")'),
  toOrder('placeOrder(input: { petId: "1", quantity: 3 }, idempotencyKey: "o2")'),
  toOrder('placeOrder(input: { petId: "1", quantity: 1000000 }, idempotencyKey: "o3")'),
  toOrder('placeOrder(input: { petId: "3", quantity: 1 }, idempotencyKey: "o4")'),
  toOrder('placeOrder(input: { petId: "99", quantity: 1 }, idempotencyKey: "o5")'),
  toOrders(
    'placeOrders(input: [{ petId: "1", quantity: 1 }, { petId: "1", quantity: 2, shipDate: "2027-02-01T00:00:00Z" }])',
  ),
  toOrders('placeOrders(input: [{ petId: "1", quantity: 1 }], idempotencyKey: "l1")'),
  toOrders('placeOrders(input: [{ petId: "1", quantity: 1000000 }], idempotencyKey: "l2")'),
];

/** Writes that change or delete what the first ones created, and their errors. */
const LATER_WRITES = [
  toCategory('updateCategory(id: "1", input: { name: "Hounds" })'),
  toCategory('updateCategory(id: "1", input: { name: "Hounds", description: null })'),
  toCategory('updateCategory(id: "1", input: { description: "Big" })'),
  toCategory('updateCategory(id: "1", input: {})'),
  toCategory('updateCategory(id: "99", input: { name: "x" })'),
  toPet('updatePet(id: "1", input: { name: "Max", categoryId: "2", status: SOLD })'),
  toPet('updatePet(id: "1", input: { categoryId: "99" })'),
  toPet('updatePet(id: "1", input: {})'),
  toPet('updatePet(id: "99", input: { name: "x" })'),
  toOrder('rescheduleOrder(id: "1", shipDate: "2028-02-29T00:00:00Z")'),
  toOrder('rescheduleOrder(id: "2", shipDate: null)'),
  toOrder('completeOrder(id: "1")'),
  toOrder('completeOrder(id: "1")'),
  toOrder('completeOrder(id: "99")'),
  toOrder('rescheduleOrder(id: "1", shipDate: "2028-02-29T00:00:00Z")'),
  toOrder('rescheduleOrder(id: "99", shipDate: null)'),
  toOrder('cancelOrder(id: "2")'),
  toOrder('cancelOrder(id: "1")'),
  toOrder('cancelOrder(id: "99")'),
  toCategory('deleteCategory(id: "1")'),
  toCategory('deleteCategory(id: "3")'),
  toCategory('deleteCategory(id: "99")'),
  toPet('deletePet(id: "1")'),
  toPet('deletePet(id: "2")'),
  toPet('deletePet(id: "99")'),
];

const ROWS = ['1', '99'].flatMap((id) => [
  `{ category(id: "${id}") { ${CATEGORY} } }`,
  `{ pet(id: "${id}") { ${PET} inventory { ${STOCK} } } }`,
  `{ inventoryItem(petId: "${id}") { ${STOCK} } }`,
  `{ order(id: "${id}") { ${ORDER} } }`,
]);

/** The filters of each list. */
const PETS = [
  'status: [AVAILABLE]',
  'status: [PENDING, SOLD]',
  'categoryId: "1"',
  'name: "re"',
  'status: [AVAILABLE], categoryId: "1", name: "rex"',
  'inStock: true',
  'inStock: false, categoryId: "1"',
  'ids: ["1", "2", "99"]',
];
const ORDERS = [
  'petId: "1"',
  'complete: false',
  'petId: "1", complete: true',
  'shipDate: { from: "2027-01-01T00:00:00Z" }',
  'petId: "1", shipDate: { from: "2027-01-01T00:00:00Z", before: "2028-01-01T00:00:00Z" }',
];
const STOCKS = [
  'status: [AVAILABLE]',
  'status: [PENDING, SOLD], maxQuantity: 10',
  'maxQuantity: 0',
  'minQuantity: 1, maxQuantity: 500',
  'categoryId: "1"',
];

interface List {
  readonly name: string;
  readonly fields: string;
  readonly orders: readonly string[];
  readonly filters: readonly string[];
  /** The field and the id of the row whose list it is; none for a field of Query. */
  readonly parent?: string;
}

const LISTS: readonly List[] = [
  { name: 'categories', fields: CATEGORY, orders: ['ID', 'NAME'], filters: ['name: "do"'] },
  { name: 'pets', fields: PET, orders: ['ID', 'NAME'], filters: PETS },
  { name: 'inventory', fields: STOCK, orders: ['PET_ID', 'QUANTITY'], filters: STOCKS },
  { name: 'orders', fields: ORDER, orders: ['ID', 'SHIP_DATE'], filters: ORDERS },
  { name: 'pets', fields: PET, orders: ['ID', 'NAME'], filters: PETS, parent: 'category(id: "1")' },
  {
    name: 'orders',
    fields: ORDER,
    orders: ['ID', 'SHIP_DATE'],
    filters: ORDERS,
    parent: 'pet(id: "1")',
  },
];

const CURSORS = 'pageInfo { startCursor endCursor hasNextPage hasPreviousPage } totalCount';

function toListQuery({ name, fields, parent }: List, args: string): string {
  const list = `${name}(${args}) { nodes { ${fields} } ${CURSORS} }`;
  return parent === undefined ? `{ ${list} }` : `{ ${parent} { ${list} } }`;
}

/** Returns the first value of a name, at any depth. */
function findText(data: unknown, name: string): string | undefined {
  let found: string | undefined;
  JSON.stringify(data, (key, value: unknown) => {
    if (key === name && typeof value === 'string') found ??= value;
    return value;
  });
  return found;
}

async function sendPages(send: Send, list: List, order: string): Promise<void> {
  const data = await send(toListQuery(list, `first: 1, ${order}`));
  const cursor = findText(data, 'endCursor');
  await send(toListQuery(list, `last: 1, ${order}`));
  if (cursor === undefined) return;
  await send(toListQuery(list, `first: 2, after: "${cursor}", ${order}`));
  await send(toListQuery(list, `last: 2, before: "${cursor}", ${order}`));
}

async function sendLists(send: Send, list: List): Promise<void> {
  await send(toListQuery(list, 'first: 2'));
  for (const filter of list.filters) {
    for (const field of list.orders) {
      await send(toListQuery(list, `filter: { ${filter} }, orderBy: { field: ${field} }`));
    }
  }
  for (const field of list.orders) {
    for (const direction of ['ASC', 'DESC']) {
      await sendPages(send, list, `orderBy: { field: ${field}, direction: ${direction} }`);
    }
  }
}

const CHANGED_TYPES = ['CATEGORY', 'PET', 'INVENTORY_ITEM', 'ORDER'];

/** Filters that match a change of the first writes, or of the later ones. */
const SUBSCRIPTIONS = [
  ['categoryChanged', 'ids: ["2"]'],
  ['petChanged', 'ids: ["1", "2"]'],
  ['petChanged', 'categoryId: "1", status: [AVAILABLE]'],
  ['inventoryChanged', 'petIds: ["1"], maxQuantity: 1000'],
  ['orderChanged', 'ids: ["1"]'],
  ['orderChanged', 'petId: "1", complete: false'],
] as const;

const CHANGE = 'cursor kind changedAt';

const toChangesQuery = (args: string): string =>
  `{ changes(${args}) { nodes { ${CHANGE} } ${CURSORS} } }`;

async function sendChanges(send: Send): Promise<void> {
  const data = await send(toChangesQuery('first: 1'));
  const cursor = findText(data, 'endCursor');
  if (cursor === undefined) return;
  await send(
    toChangesQuery(
      `filter: { types: [${CHANGED_TYPES.join(', ')}] }, first: 2, after: "${cursor}"`,
    ),
  );
  await send(toChangesQuery('last: 2'));
  await send(toChangesQuery(`last: 2, before: "${cursor}"`));
  for (const [field, filter] of SUBSCRIPTIONS) {
    await send(
      `subscription { ${field}(filter: { ${filter} }, after: "${cursor}") { ${CHANGE} before { __typename } after { __typename } } }`,
    );
  }
}

async function sendNodes(send: Send): Promise<void> {
  const query = '{ categories { nodes { nodeId } } pets { nodes { nodeId } } }';
  const nodeId = findText(await send(query), 'nodeId');
  if (nodeId === undefined) return;
  await send(`{ node(nodeId: "${nodeId}") { nodeId ... on Category { ${CATEGORY} } } }`);
  await send(`{ nodes(nodeIds: ["${nodeId}"]) { nodeId } }`);
}

async function sendReads(send: Send): Promise<void> {
  for (const query of ROWS) await send(query);
  for (const list of LISTS) await sendLists(send, list);
  await send(
    `{ categories { nodes { id pets(first: 2) { nodes { id orders(first: 2) { nodes { id } } } } } } }`,
  );
  await sendNodes(send);
}

const ROOTS = new Set(['Query', 'Mutation', 'Subscription']);

const valuesOf = ({ type }: Pick<GraphQLArgument, 'type'>): string[] => {
  const named = getNamedType(type);
  return isEnumType(named) ? named.getValues().map(({ name }) => `${named.name}.${name}`) : [];
};

/** Returns what the documents of a schema can use: operations, arguments, input fields, values. */
function usableOf(schema: GraphQLSchema): string[] {
  const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'));
  return types.flatMap((type) => {
    if (isInputObjectType(type)) {
      return Object.values(type.getFields()).flatMap((field) => [
        `${type.name}.${field.name}`,
        ...valuesOf(field),
      ]);
    }
    if (!isObjectType(type)) return [];
    return Object.values(type.getFields()).flatMap(({ name, args }) => [
      ...(ROOTS.has(type.name) ? [`${type.name}.${name}`] : []),
      ...args.flatMap((argument) => [
        `${type.name}.${name}(${argument.name}:)`,
        ...valuesOf(argument),
      ]),
    ]);
  });
}

/** Removes what a document uses from `unused`. */
function markUsed(schema: GraphQLSchema, query: string, unused: Set<string>): void {
  const info = new TypeInfo(schema);
  const parentName = (): string => `${info.getParentType()?.name}.${info.getFieldDef()?.name}`;
  visit(
    parse(query),
    visitWithTypeInfo(info, {
      Field: () => void unused.delete(parentName()),
      Argument: ({ name }) => void unused.delete(`${parentName()}(${name.value}:)`),
      ObjectField: ({ name }) =>
        void unused.delete(
          `${String(info.getParentInputType()).replaceAll(/[![\]]/g, '')}.${name.value}`,
        ),
      EnumValue: ({ value }) =>
        void unused.delete(`${String(info.getInputType()).replaceAll(/[![\]]/g, '')}.${value}`),
    }),
  );
}

/**
 * Sends operations that use everything in the schema of a release; those that this release does not
 * know are left out. The store must be empty.
 * @throws Error if the schema has something that no operation here uses: add it.
 */
export async function sendEveryOperation(schema: GraphQLSchema, send: Send): Promise<void> {
  const unused = new Set(usableOf(schema));
  const sendKnown: Send = async (query) => {
    if (validate(schema, parse(query)).length > 0) return undefined;
    markUsed(schema, query, unused);
    return send(query);
  };
  for (const query of FIRST_WRITES) await sendKnown(query);
  await sendReads(sendKnown);
  await sendChanges(sendKnown);
  for (const query of LATER_WRITES) await sendKnown(query);
  if (unused.size > 0) {
    throw new Error(`test/support/every-operation.ts does not use: ${[...unused].join(', ')}.`);
  }
}
