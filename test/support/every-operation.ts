import { sample } from 'fast-check';
import { type GraphQLSchema, isInputObjectType, OperationTypeNode } from 'graphql';

import { argumentsFor, CRUD, nextRow } from './crud.ts';
import { operationsOn, TAME } from './operations.ts';

/** Sends an operation and returns its data, or a subscription's first change. */
type Send = (query: string, variables?: object) => Promise<unknown>;

// Each value is at its limit at least once, and each row exists twice, so that a stricter CHECK or UNIQUE is noticed.
const KEYED = [
  `createCategory(input: { name: "${'n'.repeat(255)}", description: "${'d'.repeat(2000)}" }`,
  'createPet(input: { name: "Rex", categoryId: "1", status: AVAILABLE, quantity: 1000 }',
  'createPet(input: { name: "Tom", categoryId: "99" }',
  'adjustInventory(petId: "1", by: -2',
  'adjustInventory(petId: "1", by: -5000',
  'placeOrder(input: { petId: "1", quantity: 2, shipDate: "2100-01-31T12:00:00.123Z" }',
  'placeOrder(input: { petId: "99", quantity: 1, shipDate: null }',
  'placeOrders(input: [{ petId: "1", quantity: 1 }, { petId: "1", quantity: 2, shipDate: "2100-02-01T00:00:00Z" }]',
  'placeOrders(input: [{ petId: "1", quantity: 1000000 }]',
  'createPets(input: [{ name: "Ida", categoryId: "1", quantity: 5 }, { name: "Ada", categoryId: "1" }]',
  'createPets(input: [{ name: "Ida", categoryId: "99" }]',
  'updatePets(input: [{ id: "1", name: "Rex", status: AVAILABLE }, { id: "2", categoryId: "1" }]',
  'updatePets(input: [{ id: "99", name: "Rex" }]',
  'updateInventories(input: [{ petId: "1", quantity: 900, expectedQuantity: 1 }]',
  'updateInventories(input: [{ petId: "1", quantity: 900 }, { petId: "2", quantity: 900 }]',
  'adjustInventories(input: [{ petId: "1", by: -2 }, { petId: "2", by: 2 }]',
].flatMap((call, index) => {
  const key = `idempotencyKey: "${index}${'k'.repeat(254)}"`;
  // Each call is sent without a key, with a key, and again with that key. Then another call with the key conflicts.
  const conflict = `createCategory(input: { name: "Dogs" }, ${key})`;
  return [`${call})`, `${call}, ${key})`, `${call}, ${key})`, conflict];
});
const FIRST_WRITES = [
  ...KEYED,
  `createPet(input: { name: "${'n'.repeat(255)}", categoryId: "2", status: PENDING })`,
  'createPet(input: { name: "é 🐕", categoryId: "2", status: SOLD })',
  'updateInventory(petId: "1", input: { quantity: 100 })',
  'updateInventory(petId: "5", input: { quantity: 2147483647 }, expectedQuantity: 0)',
  'updateInventory(petId: "5", input: { quantity: 5 }, expectedQuantity: 4)',
  'adjustInventory(petId: "1", by: 2)',
];
// The first order is completed, and the others are cancelled. The rows that the first order refers to stay in use.
const LATER_WRITES = ['1', '2', '3', '99'].flatMap((id) => [
  `updateCategory(id: "${id}", input: { name: "Hounds" })`,
  `updateCategory(id: "${id}", input: { name: "Hounds", description: null })`,
  `updateCategory(id: "${id}", input: {})`,
  `updatePet(id: "${id}", input: { name: "Max", categoryId: "2", status: SOLD })`,
  `updatePet(id: "${id}", input: { categoryId: "99" })`,
  `updatePet(id: "${id}", input: {})`,
  `rescheduleOrder(id: "${id}", shipDate: "2100-02-28T00:00:00Z")`,
  `${id === '1' ? 'complete' : 'cancel'}Order(id: "${id}")`,
  `completeOrder(id: "${id}")`,
  `rescheduleOrder(id: "${id}", shipDate: null)`,
  `deleteCategory(id: "${id}")`,
  `deletePet(id: "${id}")`,
]);
// Operations with a cursor of the first writes, which generated queries cannot have.
const READS = [
  '{ changes(filter: { types: [CATEGORY, PET, INVENTORY_ITEM, ORDER] }, first: 2, after: "$cursor") { totalCount nodes { kind } } }',
  '{ changes(last: 2, before: "$cursor") { nodes { kind } } }',
  'subscription { categoryChanged(filter: { ids: ["2"] }, after: "$cursor") { kind } }',
  'subscription { petChanged(filter: { ids: ["1", "2"] }, after: "$cursor") { kind } }',
  'subscription { petChanged(filter: { categoryId: "1", status: [AVAILABLE] }, after: "$cursor") { kind } }',
  'subscription { inventoryChanged(filter: { petIds: ["1"], categoryId: "1", maxQuantity: 1000 }, after: "$cursor") { kind } }',
  'subscription { changed(types: [CATEGORY, PET], after: "$cursor") { kind } }',
  'subscription { orderChanged(filter: { petId: "1", complete: false }, after: "$cursor") { kind } }',
];

/** The writes that `fieldsOf` defines, with all of their fields: those that create rows, or others. They refer to the first rows. */
const writesOf = (creates: boolean): string[] =>
  CRUD.filter(({ kind }) => kind.startsWith('create') === creates).map((crud) => {
    const args = argumentsFor(crud, nextRow(), () => '1', { id: '1', fields: 'all' });
    return `${crud.name}(${args})`;
  });

const toMutation = (call: string): string =>
  `mutation { ${call} { __typename ... on Error { message } } }`;

function namesOf(schema: GraphQLSchema): string[] {
  const mutations = Object.values(schema.getMutationType()?.getFields() ?? {});
  const inputs = Object.values(schema.getTypeMap()).filter(isInputObjectType);
  return [
    ...mutations.flatMap(({ name, args }) => [name, ...args.map((argument) => argument.name)]),
    ...inputs.flatMap((input) => Object.keys(input.getFields())),
  ];
}

/** Generates the same queries each time, from a fixed seed. Together, they use every filter and order. */
const queriesOn = (schema: GraphQLSchema) =>
  sample(operationsOn(schema, OperationTypeNode.QUERY, 4, TAME), { numRuns: 300, seed: 1 });

/** Returns the names of mutations, arguments and fields of inputs that no operation uses. */
export function namesWithoutOperation(schema: GraphQLSchema): string[] {
  const writes = [...FIRST_WRITES, ...writesOf(true), ...LATER_WRITES, ...writesOf(false)];
  const words = new Set(JSON.stringify([writes, READS, queriesOn(schema)]).match(/\w+/g));
  return namesOf(schema).filter((name) => !words.has(name));
}

/** Sends operations of all kinds to an empty store: each mutation, each filter and each order. */
export async function sendEveryOperation(schema: GraphQLSchema, send: Send): Promise<void> {
  for (const call of [...FIRST_WRITES, ...writesOf(true)]) await send(toMutation(call));
  const page = JSON.stringify(await send('{ changes(first: 1) { pageInfo { endCursor } } }'));
  const [, cursor = ''] = /"endCursor":"([^"]+)"/.exec(page) ?? [];
  for (const query of READS) await send(query.replace('$cursor', cursor));
  for (const { query, variables } of queriesOn(schema)) await send(query, variables);
  for (const call of [...LATER_WRITES, ...writesOf(false)]) await send(toMutation(call));
}
