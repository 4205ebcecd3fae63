import { array, assert, asyncProperty, constantFrom, nat, record } from 'fast-check';
import { getNamedType, type GraphQLObjectType, isUnionType } from 'graphql';
import { expect, inject, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import { type Data, gateway, run, useGateway } from '../support/gateway.ts';
import { mutate, nodeIdOf } from '../support/make.ts';

const MAX = 2_147_483_647;
const NONE = '999999';

type Arguments = Data;
type Result = Data;
type Row = Record<string, unknown>;

class Refusal extends Error {
  readonly data: Row;

  constructor(code: string, line: number | null = null, available: number | null = null) {
    super(code);
    this.data = { code, line, available };
  }
}

class Shop {
  readonly categories = new Map<string, Row>();
  readonly pets = new Map<string, Row>();
  /** The units of each pet with an inventory item; any other pet has none. */
  readonly stock = new Map<string, number>();
  readonly orders = new Map<string, Row>();

  unitsOf = (petId: string): number => this.stock.get(petId) ?? 0;
  isUsed = (rows: ReadonlyMap<string, Row>, by: string, id: string): boolean =>
    [...rows.values()].some((row) => row[by] === id);
}

function find(rows: ReadonlyMap<string, Row>, id: string, code: string, line?: number): Row {
  const row = rows.get(id);
  if (!row) throw new Refusal(code, line);
  return row;
}

function change(rows: Map<string, Row>, id: string, fields: object): Row {
  const row = { ...rows.get(id), ...fields };
  rows.set(id, row);
  return row;
}

/** Returns one row of what a rule for several lines returns; its refusals have no line. */
function alone(work: () => Row[]): Row | undefined {
  try {
    return work()[0];
  } catch (error) {
    if (error instanceof Refusal) error.data['line'] = null;
    throw error;
  }
}

function createPets(shop: Shop, lines: Arguments[], made: Result[] = []): Row[] {
  for (const [line, { categoryId }] of lines.entries()) {
    find(shop.categories, categoryId, 'CATEGORY_NOT_FOUND', line);
  }
  return lines.map(({ quantity, ...given }, line) => {
    const { id } = made[line] ?? {};
    if (quantity !== undefined) shop.stock.set(id, quantity);
    return change(shop.pets, id, { id, status: 'AVAILABLE', ...given });
  });
}

function updatePets(shop: Shop, lines: Arguments[]): Row[] {
  for (const [line, { id }] of lines.entries()) find(shop.pets, id, 'PET_NOT_FOUND', line);
  for (const [line, { categoryId }] of lines.entries()) {
    if (categoryId) find(shop.categories, categoryId, 'CATEGORY_NOT_FOUND', line);
  }
  return lines.map((line) => change(shop.pets, line.id, line));
}

/** Sets the stock of pets to a quantity, or adjusts it `by` units. */
function setStocks(shop: Shop, lines: Arguments[]): Row[] {
  const items = lines.map(({ petId, quantity, by = 0, expectedQuantity = null }, line) => {
    const { status } = find(shop.pets, petId, 'PET_NOT_FOUND', line);
    const available = shop.unitsOf(petId);
    const isStale = expectedQuantity !== null && expectedQuantity !== available;
    if (isStale) throw new Refusal('STALE_INVENTORY', line, available);
    const units: number = quantity ?? available + by;
    if (units < 0) throw new Refusal('INSUFFICIENT_STOCK', line, available);
    if (units > MAX) throw new Refusal('STOCK_LIMIT_EXCEEDED', line);
    return { petId, quantity: units, status };
  });
  for (const { petId, quantity } of items) shop.stock.set(petId, quantity);
  return items;
}

/** Returns a time as callers get it, in UTC and with milliseconds. */
const toTime = (text?: string | null) => (text ? new Date(text).toISOString() : null);

const withPet = ({ pets }: Shop, order: Row): Row => ({
  ...order,
  pet: pets.get(String(order['petId'])),
});

function placeOrders(shop: Shop, lines: Arguments[], made: Result[] = []): Row[] {
  const needed = new Map<string, number>();
  for (const [line, { petId, quantity }] of lines.entries()) {
    const { status } = find(shop.pets, petId, 'PET_NOT_FOUND', line);
    if (status !== 'AVAILABLE') throw new Refusal('PET_NOT_AVAILABLE', line);
    const units = (needed.get(petId) ?? 0) + quantity;
    const available = shop.unitsOf(petId);
    if (units > available) throw new Refusal('INSUFFICIENT_STOCK', line, available);
    needed.set(petId, units);
  }
  for (const [petId, units] of needed) shop.stock.set(petId, shop.unitsOf(petId) - units);
  return lines.map((line, index) => {
    const { id } = made[index] ?? {};
    const fields = { id, ...line, shipDate: toTime(line.shipDate), complete: false };
    return withPet(shop, change(shop.orders, id, fields));
  });
}

function findOpen(shop: Shop, id: string): Row {
  const order = find(shop.orders, id, 'ORDER_NOT_FOUND');
  if (order['complete']) throw new Refusal('ORDER_COMPLETE');
  return order;
}

/** Each mutation: changes the shop and returns the result, of which the gateway chooses only the ids. */
const RULES: Readonly<Record<string, (shop: Shop, args: Arguments, result: Result) => unknown>> = {
  createCategory: ({ categories }, { input }, { id }) =>
    change(categories, id, { id, description: null, ...input }),
  updateCategory: ({ categories }, { id, input }) => {
    find(categories, id, 'CATEGORY_NOT_FOUND');
    return change(categories, id, input);
  },
  deleteCategory: (shop, { id }) => {
    find(shop.categories, id, 'CATEGORY_NOT_FOUND');
    if (shop.isUsed(shop.pets, 'categoryId', id)) throw new Refusal('CATEGORY_IN_USE');
    shop.categories.delete(id);
    return { id, nodeId: nodeIdOf('Category', id) };
  },
  createPet: (shop, { input }, made) => alone(() => createPets(shop, [input], [made])),
  createPets: (shop, { input }, { pets }) => ({ pets: createPets(shop, input, pets) }),
  updatePet: (shop, { id, input }) => alone(() => updatePets(shop, [{ id, ...input }])),
  updatePets: (shop, { input }) => ({ pets: updatePets(shop, input) }),
  deletePet: (shop, { id }) => {
    find(shop.pets, id, 'PET_NOT_FOUND');
    if (shop.isUsed(shop.orders, 'petId', id)) throw new Refusal('PET_IN_USE');
    shop.pets.delete(id);
    shop.stock.delete(id);
    return { id, nodeId: nodeIdOf('Pet', id) };
  },
  updateInventory: (shop, { input, ...line }) =>
    alone(() => setStocks(shop, [{ ...line, ...input }])),
  updateInventories: (shop, { input }) => ({ inventory: setStocks(shop, input) }),
  adjustInventory: (shop, line) => alone(() => setStocks(shop, [line])),
  adjustInventories: (shop, { input }) => ({ inventory: setStocks(shop, input) }),
  placeOrder: (shop, { input }, made) => alone(() => placeOrders(shop, [input], [made])),
  placeOrders: (shop, { input }, { orders }) => ({ orders: placeOrders(shop, input, orders) }),
  rescheduleOrder: (shop, { id, shipDate }) => {
    findOpen(shop, id);
    return withPet(shop, change(shop.orders, id, { shipDate: toTime(shipDate) }));
  },
  completeOrder: (shop, { id }) => {
    find(shop.orders, id, 'ORDER_NOT_FOUND');
    return withPet(shop, change(shop.orders, id, { complete: true }));
  },
  cancelOrder: (shop, { id }) => {
    const { petId, quantity: by } = findOpen(shop, id);
    const inventory = alone(() => setStocks(shop, [{ petId, by }]));
    shop.orders.delete(id);
    return { id, nodeId: nodeIdOf('Order', id), inventory };
  },
};

const UNITS = [0, 5, 8, MAX, MAX];
const STATUSES = ['AVAILABLE', 'AVAILABLE', 'AVAILABLE', undefined, undefined, 'PENDING', 'SOLD'];
const SHIP_DATES = [
  null,
  undefined,
  '2100-01-05T09:00:00.120999+02:00',
  '9999-12-31T23:59:59.999Z',
];

const choices = record({
  id: nat(),
  otherId: nat(),
  name: constantFrom('Rex', undefined),
  status: constantFrom(...STATUSES),
  description: constantFrom('Some.', null, undefined),
  units: constantFrom(...UNITS),
  expected: constantFrom(null, null, undefined, 5, 8),
  by: constantFrom(-MAX, -2, -1, 1, 2, 2, MAX),
  quantity: constantFrom(1, 1, 1, 2, MAX),
  shipDate: constantFrom(...SHIP_DATES),
});
type Choices = ReturnType<(typeof choices)['generate']>['value'];

/** Returns the id of a row, or rarely one that no row has. */
const idIn = (rows: ReadonlyMap<string, unknown>, n: number): string =>
  (n % 5 > 0 && [...rows.keys()].at(n % rows.size)) || NONE;

/** Returns the arguments of each mutation, of which none is invalid. */
function argumentsOf(name: string, shop: Shop, lines: readonly Choices[]): Arguments {
  const all = lines.map((line) => {
    const { name: given, status, units, expected: expectedQuantity, by, quantity } = line;
    const petId = idIn(shop.pets, line.id);
    const categoryId = idIn(shop.categories, line.otherId);
    return {
      category: { name: given, description: line.description },
      newPet: { name: 'Ida', categoryId, status, ...(units < 9 && { quantity: units }) },
      pet: { id: petId, name: given, status, ...(by > 0 && { categoryId }) },
      stock: { petId, quantity: units, expectedQuantity },
      adjustment: { petId, by },
      order: { petId, quantity, shipDate: line.shipDate },
    };
  });
  const [first] = all;
  const [{ id: n, shipDate = null }] = lines as [Choices];
  const inputOf = (kind: keyof (typeof all)[number]) => all.map((one) => one[kind]);
  /** No two lines may be for the same pet. */
  const oncePerPet = (kind: 'pet' | 'stock' | 'adjustment') =>
    all
      .filter(({ pet }, index) => all.findIndex((other) => other.pet.id === pet.id) === index)
      .map((one) => one[kind]);
  const id = idIn(name.endsWith('Category') ? shop.categories : shop.orders, n);
  const { id: petId, ...pet } = first?.pet ?? { id: NONE };
  const { quantity, ...stock } = first?.stock ?? {};
  const known: Readonly<Record<string, () => Arguments>> = {
    createCategory: () => ({ input: { ...first?.category, name: 'Cats' } }),
    updateCategory: () => ({ id, input: first?.category }),
    createPet: () => ({ input: first?.newPet }),
    createPets: () => ({ input: inputOf('newPet') }),
    updatePet: () => ({ id: petId, input: pet }),
    updatePets: () => ({ input: oncePerPet('pet') }),
    deletePet: () => ({ id: petId }),
    updateInventory: () => ({ ...stock, input: { quantity } }),
    updateInventories: () => ({ input: oncePerPet('stock') }),
    adjustInventory: () => first?.adjustment,
    adjustInventories: () => ({ input: oncePerPet('adjustment') }),
    placeOrder: () => ({ input: first?.order }),
    placeOrders: () => ({ input: inputOf('order') }),
    rescheduleOrder: () => ({ id, shipDate }),
  };
  // What is undefined is not sent.
  return JSON.parse(JSON.stringify(known[name]?.() ?? { id }));
}

const PET = 'id name categoryId status';
const ITEM = 'petId quantity status';
const ORDER = `id petId quantity shipDate complete pet { ${PET} }`;
const SELECTED: Readonly<Record<string, string>> = {
  Category: 'id name description',
  DeletedCategory: 'id nodeId',
  Pet: PET,
  CreatedPets: `pets { ${PET} }`,
  UpdatedPets: `pets { ${PET} }`,
  DeletedPet: 'id nodeId',
  InventoryItem: ITEM,
  UpdatedInventories: `inventory { ${ITEM} }`,
  AdjustedInventories: `inventory { ${ITEM} }`,
  Order: ORDER,
  PlacedOrders: `orders { ${ORDER} }`,
  CancelledOrder: `id nodeId inventory { ${ITEM} }`,
};

const OTHERS = ['InvalidInput', 'IdempotencyConflict', 'Unauthenticated', 'Forbidden'];

/** The types of what a mutation returns, without the errors that other arguments or tokens cause. */
function typesOf(name: string): readonly GraphQLObjectType[] {
  const type = getNamedType(petStore.schema.getMutationType()?.getFields()[name]?.type);
  const types = isUnionType(type) ? type.getTypes() : [];
  return types.filter((one) => !OTHERS.includes(one.name));
}

function selectionOf(name: string): string {
  const parts = typesOf(name).map((type) => {
    const ofError = ['line', 'available'].filter((field) => field in type.getFields());
    return `... on ${type.name} { ${SELECTED[type.name] ?? ['code', ...ofError].join(' ')} }`;
  });
  return `__typename ${parts.join(' ')}`;
}

const STORE = `{ categories(first: 100) { nodes { ${SELECTED['Category']} } }
  pets(first: 100) { nodes { ${PET} } } inventory(first: 100) { nodes { ${ITEM} } }
  orders(first: 100) { nodes { ${ORDER} } } }`;

const byId = (rows: ReadonlyMap<string, Row>) => ({
  nodes: [...rows].toSorted(([one], [other]) => Number(one) - Number(other)).map(([, row]) => row),
});

/** Returns what a mutation is to return, after it has changed the shop, or the error that has prevented that. */
function expectedOf(name: string, shop: Shop, args: Arguments, result: Result): object {
  try {
    return { line: null, available: null, ...Object(RULES[name]?.(shop, args, result)) };
  } catch (error) {
    if (error instanceof Refusal) return error.data;
    throw error;
  }
}

const NAMES = Object.keys(RULES);
// Mutations that depend on earlier ones are more frequent.
const MORE = `createPet createPets createPets placeOrder placeOrder placeOrders completeOrder
  rescheduleOrder cancelOrder adjustInventory adjustInventory`.split(/\s+/);

useGateway();
it('mutations return and change what the rules of the shop say, or return the first error by its line and change nothing', async () => {
  const seen = new Set<string>();
  const step = record({
    name: constantFrom(...NAMES, ...MORE),
    lines: array(choices, { minLength: 1, maxLength: 3 }),
  });
  const follows = asyncProperty(array(step, { minLength: 50, maxLength: 50 }), async (steps) => {
    await run('truncate categories cascade');
    const shop = new Shop();
    const send = async (name: string, args: Arguments): Promise<void> => {
      const response = await mutate(gateway, name, args, selectionOf(name));
      const { __typename: type, ...result } = response;
      seen.add(`${name}: ${type}`);
      const found = { line: null, available: null, ...result };
      expect([name, args, found]).toEqual([name, args, expectedOf(name, shop, args, result)]);
    };
    await send('createCategory', { input: { name: 'Cats', description: 'Some.' } });
    const [categoryId] = [...shop.categories.keys()];
    const pet = { name: 'Ida', categoryId, quantity: 8 };
    await send('createPets', { input: [pet, pet, pet] });
    for (const { name, lines } of steps) await send(name, argumentsOf(name, shop, lines));
    // By chance, the stock is hardly ever so large that it has no room for the units of an order.
    const open = [...shop.orders.values()].find(({ complete }) => !complete);
    if (open) {
      await send('updateInventory', { petId: open['petId'], input: { quantity: MAX } });
      await send('cancelOrder', { id: open['id'] });
    }
    const stock = new Map(
      Array.from(shop.stock, ([petId, quantity]): [string, Row] => [
        petId,
        { petId, quantity, status: shop.pets.get(petId)?.['status'] },
      ]),
    );
    expect(await gateway.data(STORE)).toEqual({
      categories: byId(shop.categories),
      pets: byId(shop.pets),
      inventory: byId(stock),
      orders: byId(new Map(Array.from(shop.orders, ([id, order]) => [id, withPet(shop, order)]))),
    });
  });
  // The same shops each time, except in `npm run test:long`, so that each error occurs.
  const shops = inject('isLong') ? { numRuns: 60 } : { numRuns: 12, seed: 1 };
  // Shrinking would take minutes.
  await assert(follows, { ...shops, endOnFailure: true });
  const all = NAMES.flatMap((name) => typesOf(name).map((type) => `${name}: ${type.name}`));
  expect(all.filter((one) => !seen.has(one))).toEqual([]);
});
