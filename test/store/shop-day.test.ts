import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { fillSample } from '../../src/gateway/server/fill-sample.ts';
import { petStore } from '../../src/store/index.ts';
import { openCopy } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { callTool, connectClient } from '../support/mcp.ts';
import { untilSettled } from '../support/settled.ts';

type Arguments = Readonly<Record<string, unknown>>;
type Data = Awaited<ReturnType<typeof callTool>>['data'];

/** A call of a tool, with the data or the error that it returns. A write gets a new key. */
interface Step {
  readonly tool: string;
  /** The arguments, or a function that takes the data of the request's last call. */
  readonly args?: Arguments | ((last: Data) => Arguments);
  readonly shows?: object;
  readonly fails?: RegExp;
}

const nodes = (...some: object[]) => ({
  nodes: expect.arrayContaining(some.map((one) => expect.objectContaining(one))),
});
const WHISKERS = { id: '2', name: 'Whiskers' };

// What is asked in a day of the sample shop, in this order, and the calls that response it.
const DAY: [request: string, steps: Step[]][] = [
  [
    'Do you have birds?',
    [
      { tool: 'find_pets', args: { category: 'bird' }, shows: { pets: { nodes: [] } } },
      {
        tool: 'categories',
        shows: {
          categories: nodes(
            { id: '6', name: 'Parrots' },
            { id: '7', name: 'Canaries and finches' },
          ),
        },
      },
      {
        tool: 'find_pets',
        args: { categoryIds: ['6', '7'] },
        shows: { pets: nodes({ name: 'Kiwi' }, { name: 'Tweety' }) },
      },
    ],
  ],
  [
    'Where is order 17?',
    [
      {
        tool: 'order',
        args: { id: '17' },
        shows: {
          order: {
            quantity: 1,
            complete: false,
            shipDate: '2026-12-17T09:00:00.000Z',
            pet: { name: 'Sheldon' },
          },
        },
      },
    ],
  ],
  [
    'What else was ordered of Sheldon?',
    [
      {
        tool: 'orders_of_pet',
        args: { petId: '9' },
        shows: { pet: { name: 'Sheldon', orders: { nodes: [{ id: '17' }] } } },
      },
    ],
  ],
  [
    'Which orders ship in the week from 1 December?',
    [
      {
        tool: 'orders_to_ship',
        args: { from: '2026-12-01T00:00:00Z', before: '2026-12-08T00:00:00Z' },
        shows: {
          orders: { nodes: [{ id: '2' }, { id: '3', pet: { name: 'Melody' } }, { id: '6' }] },
        },
      },
    ],
  ],
  [
    'Order 2 has left. Note that.',
    [
      {
        tool: 'complete_order',
        args: { id: '2' },
        shows: { completeOrder: { id: '2', quantity: 2, complete: true } },
      },
      {
        tool: 'orders_to_ship',
        args: { before: '2026-12-08T00:00:00Z' },
        shows: { orders: { nodes: [{ id: '3' }, { id: '6' }] } },
      },
    ],
  ],
  [
    'Which pets sell out?',
    [
      {
        tool: 'low_stock',
        args: { maxQuantity: 1 },
        shows: { inventory: nodes({ pet: expect.objectContaining({ name: 'Neptune' }) }) },
      },
    ],
  ],
  [
    'Ten Neptunes have arrived.',
    [
      {
        tool: 'restock',
        args: { petId: '58', by: 10 },
        shows: { adjustInventory: { quantity: 11, pet: { name: 'Neptune' } } },
      },
    ],
  ],
  [
    'Sell two Whiskers and one Nemo, to ship on Christmas Eve of 2100.',
    [
      {
        tool: 'place_orders',
        args: {
          input: [
            { petId: '2', quantity: 2, shipDate: '2100-12-24T09:00:00Z' },
            { petId: '8', quantity: 1, shipDate: '2100-12-24T09:00:00Z' },
          ],
        },
        shows: {
          placeOrders: {
            orders: [
              { id: '41', quantity: 2, pet: WHISKERS },
              { id: '42', quantity: 1, pet: { name: 'Nemo' } },
            ],
          },
        },
      },
    ],
  ],
  [
    'Sell 500 Nemos.',
    [
      {
        tool: 'place_orders',
        args: { input: [{ petId: '8', quantity: 500 }] },
        fails: /^INSUFFICIENT_STOCK: Pet 8 has 14 units in stock\. Nothing was changed\./,
      },
    ],
  ],
  [
    'Take the date off, the customer will call.',
    [
      {
        tool: 'reschedule_order',
        args: { id: '41', shipDate: null },
        shows: { rescheduleOrder: { shipDate: null, pet: WHISKERS } },
      },
      {
        tool: 'last_changes',
        args: { types: ['ORDER'], last: 1 },
        shows: {
          changes: {
            nodes: [
              { before: { shipDate: '2100-12-24T09:00:00.000Z' }, after: { shipDate: null } },
            ],
          },
        },
      },
    ],
  ],
  [
    'Cancel it.',
    [
      {
        tool: 'cancel_order',
        args: { id: '41' },
        shows: { cancelOrder: { id: '41', inventory: { quantity: 19, pet: WHISKERS } } },
      },
      { tool: 'order', args: { id: '41' }, shows: { order: null } },
    ],
  ],
  [
    'Reserve Biscuit.',
    [
      {
        tool: 'set_status',
        args: { petId: '1', status: 'PENDING' },
        shows: { updatePet: { name: 'Biscuit', status: 'PENDING' } },
      },
      {
        tool: 'place_orders',
        args: { input: [{ petId: '1', quantity: 1 }] },
        fails: /^PET_NOT_AVAILABLE: /,
      },
      {
        tool: 'pet',
        args: { id: '1' },
        shows: { pet: { status: 'PENDING', canBeOrdered: false } },
      },
    ],
  ],
  [
    'Three cats called Tiger have arrived.',
    [
      { tool: 'categories', shows: { categories: nodes({ id: '2', name: 'Cats' }) } },
      {
        tool: 'add_pet',
        args: { name: 'Tiger', categoryId: '2', quantity: 3 },
        shows: {
          createPet: {
            id: '101',
            name: 'Tiger',
            status: 'AVAILABLE',
            availableQuantity: 3,
            category: { name: 'Cats' },
          },
        },
      },
    ],
  ],
  [
    'Sorry, they are called Tigger.',
    [
      {
        tool: 'rename_pet',
        args: { petId: '101', name: 'Tigger' },
        shows: { updatePet: { id: '101', name: 'Tigger', category: { name: 'Cats' } } },
      },
    ],
  ],
  [
    'What has changed last?',
    [
      {
        tool: 'last_changes',
        args: { last: 1 },
        shows: {
          changes: {
            nodes: [
              {
                kind: 'UPDATED',
                petId: '101',
                before: { name: 'Tiger' },
                after: { name: 'Tigger' },
              },
            ],
            pageInfo: { hasPreviousPage: true },
          },
        },
      },
      {
        tool: 'changes_after',
        args: (last) => ({ after: last.changes.pageInfo.endCursor }),
        shows: { changes: { nodes: [], pageInfo: { hasNextPage: false } } },
      },
    ],
  ],
];

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ MCP_OPERATIONS: 'src/store/tools' }, async (config, log) => {
    const db = await openCopy(config, log);
    await fillSample(db, petStore);
    return db;
  });
});
afterAll(() => gateway.close());

describe('with the tools of the store', () => {
  it.each(DAY)('%j can be answered', async (_request, steps) => {
    const client = await connectClient(gateway);
    const { tools } = await client.listTools();
    let last: Data;
    for (const { tool, args = {}, shows, fails } of steps) {
      await untilSettled(gateway.db);
      const writes = tools.find(({ name }) => name === tool)?.annotations?.readOnlyHint === false;
      const key = writes && { idempotencyKey: randomUUID() };
      const given = typeof args === 'function' ? args(last) : args;
      const { data, error = '', details = '' } = await callTool(client, tool, { ...given, ...key });
      expect(error + details).toMatch(fails ?? /^$/);
      expect(data ?? {}).toMatchObject(shows ?? {});
      last = data;
    }
  });

  it('no tool is needless in such a day', async () => {
    const { tools } = await (await connectClient(gateway)).listTools();
    const used = new Set(DAY.flatMap(([, steps]) => steps.map(({ tool }) => tool)));
    expect([...used].toSorted()).toEqual(tools.map(({ name }) => name));
  });
});
