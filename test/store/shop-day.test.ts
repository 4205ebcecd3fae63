import { randomUUID } from 'node:crypto';

import { beforeAll, expect, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import { gateway, useGateway } from '../support/gateway.ts';
import { callTool, connectClient } from '../support/mcp.ts';
import { untilSettled } from '../support/settled.ts';

const nodes = (...some: object[]) => ({
  nodes: expect.arrayContaining(some.map((one) => expect.objectContaining(one))),
});
const CHRISTMAS = '2100-12-24T09:00:00.000Z';
const CART = [
  { petId: '2', quantity: 2, shipDate: CHRISTMAS },
  { petId: '8', quantity: 1, shipDate: CHRISTMAS },
];
const PLACED = [
  { id: '41', pet: { name: 'Whiskers' } },
  { id: '42', pet: { name: 'Nemo' } },
];

const SALES = [
  { shipDateMonth: '2026-12-01', count: 25, sum: { quantity: 63 } },
  { shipDateMonth: null, count: 8, sum: { quantity: 20 } },
  { shipDateMonth: '2027-01-01', count: 7, sum: { quantity: 17 } },
];

// A day of the sample shop, in this order: each call of a tool with what it returns, or its error.
const DAY: [tool: string, args: Record<string, unknown>, shows: object | RegExp][] = [
  // "Do you have birds?"
  ['find_pets', { category: 'bird' }, { pets: { nodes: [] } }],
  ['categories', {}, { categories: nodes({ id: '6', name: 'Parrots' }, { id: '7' }) }],
  ['find_pets', { categoryIds: ['6', '7'] }, { pets: nodes({ name: 'Kiwi' }, { name: 'Tweety' }) }],
  // "How many units ship in each month, and how many birds are reserved?"
  ['sales', { by: ['SHIP_DATE_MONTH'] }, { orders: { groups: { nodes: SALES } } }],
  [
    'count_pets',
    { status: ['PENDING'] },
    { pets: { groups: nodes({ category: { id: '6', name: 'Parrots' }, count: 1 }) } },
  ],
  // "Where is order 17, and what else was ordered of its pet?"
  ['order', { id: '17' }, { order: { complete: false, pet: { name: 'Sheldon' } } }],
  [
    'orders_of_pet',
    { petId: '9' },
    { pet: { name: 'Sheldon', orders: { nodes: [{ id: '17' }] } } },
  ],
  // "Which orders ship in the week from 1 December? The first has left."
  [
    'orders_to_ship',
    { from: '2026-12-01T00:00:00Z', before: '2026-12-08T00:00:00Z' },
    { orders: { nodes: [{ id: '2' }, { id: '3', pet: { name: 'Melody' } }, { id: '6' }] } },
  ],
  ['complete_order', { id: '2' }, { completeOrder: { id: '2', quantity: 2, complete: true } }],
  [
    'orders_to_ship',
    { before: '2026-12-08T00:00:00Z' },
    { orders: { nodes: [{ id: '3' }, { id: '6' }] } },
  ],
  // "Which pets sell out? Ten of the first have arrived."
  [
    'low_stock',
    { maxQuantity: 1 },
    { inventory: nodes({ pet: expect.objectContaining({ name: 'Neptune' }) }) },
  ],
  [
    'restock',
    { petId: '58', by: 10 },
    { adjustInventory: { quantity: 11, pet: { name: 'Neptune' } } },
  ],
  // "Sell two Whiskers and one Nemo, to ship on Christmas Eve of 2100."
  ['place_orders', { input: CART }, { placeOrders: { orders: PLACED } }],
  [
    'place_orders',
    { input: [{ petId: '8', quantity: 500 }] },
    /^INSUFFICIENT_STOCK: Pet 8 has 14 units in stock\. Nothing was changed\./,
  ],
  // "Take the date off, the customer will call." "Cancel it."
  ['reschedule_order', { id: '41', shipDate: null }, { rescheduleOrder: { shipDate: null } }],
  [
    'last_changes',
    { types: ['ORDER'], last: 1 },
    { changes: { nodes: [{ before: { shipDate: CHRISTMAS }, after: { shipDate: null } }] } },
  ],
  ['cancel_order', { id: '41' }, { cancelOrder: { id: '41', inventory: { quantity: 19 } } }],
  ['order', { id: '41' }, { order: null }],
  // "Reserve Biscuit."
  [
    'set_status',
    { petId: '1', status: 'PENDING' },
    { updatePet: { name: 'Biscuit', status: 'PENDING' } },
  ],
  ['place_orders', { input: [{ petId: '1', quantity: 1 }] }, /^PET_NOT_AVAILABLE: /],
  ['pet', { id: '1' }, { pet: { status: 'PENDING', canBeOrdered: false } }],
  // "Three cats called Tiger have arrived." "Sorry, they are called Tigger."
  [
    'add_pet',
    { name: 'Tiger', categoryId: '2', quantity: 3 },
    { createPet: { id: '101', availableQuantity: 3 } },
  ],
  [
    'rename_pet',
    { petId: '101', name: 'Tigger' },
    { updatePet: { id: '101', category: { name: 'Cats' } } },
  ],
  // "What has changed since the shop opened, and with which tool?"
  ['changes_after', { types: ['PET'], first: 1 }, { changes: { nodes: [{ petId: '1' }] } }],
  [
    'who_changed',
    { types: ['PET'], last: 1 },
    { changes: { nodes: [{ by: null, operationName: 'rename_pet' }] } },
  ],
];

useGateway({ MCP_OPERATIONS: 'src/store/tools' });
beforeAll(() => gateway.db.transaction(petStore.fillSample));

it('the tools answer in a day of the sample shop, which uses each of them', async () => {
  const client = await connectClient(gateway);
  const { tools } = await client.listTools();
  expect(new Set(DAY.map(([tool]) => tool))).toEqual(new Set(tools.map(({ name }) => name)));
  for (const [tool, args, shows] of DAY) {
    const writes = tools.find(({ name }) => name === tool)?.annotations?.readOnlyHint === false;
    await untilSettled(gateway.db);
    const given = { ...args, ...(writes && { idempotencyKey: randomUUID() }) };
    const { data, error = '', details = '' } = await callTool(client, tool, given);
    const text = error + details;
    const isError = shows instanceof RegExp;
    const isAsShown = isError ? shows.test(text) : text === '';
    expect([tool, text, isAsShown]).toEqual([tool, text, true]);
    expect([tool, data ?? {}]).toMatchObject([tool, isError ? {} : shows]);
  }
});
