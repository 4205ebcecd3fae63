import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { describeOnBothDatabases } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { makeOrder, makePet } from '../support/make.ts';
import { createOutage } from '../support/outage.ts';

let gateway: Gateway;
const outage = createOutage();

/** Sends a mutation while all reads fail, as in an outage that begins after the write. */
const writeInOutage = (mutation: string, variables: Record<string, unknown>) =>
  outage.during(() => gateway.graphql(mutation, variables));

describeOnBothDatabases(() => {
  let petId: string;
  beforeAll(async () => {
    gateway = await startGateway({}, outage.open);
    petId = await makePet(gateway, { stock: 1000 });
  });
  afterAll(() => gateway.close());

  describe('what was written stays in the result if other rows cannot be read', () => {
    it.each([
      [
        'placeOrder',
        'mutation ($petId: ID!) { placeOrder(input: { petId: $petId, quantity: 1 }) { ... on Order { id pet { id inventory { quantity } } } } }',
        { id: expect.any(String), pet: { id: expect.any(String), inventory: null } },
        ['placeOrder', 'pet', 'inventory'],
      ],
      [
        'placeOrder, lists',
        'mutation ($petId: ID!) { placeOrder(input: { petId: $petId, quantity: 1 }) { ... on Order { id pet { orders { nodes { id } } } } } }',
        { id: expect.any(String), pet: { orders: null } },
        ['placeOrder', 'pet', 'orders'],
      ],
      [
        'updatePet',
        'mutation ($petId: ID!) { updatePet(id: $petId, input: { name: "Cleo" }) { ... on Pet { id name category { name } } } }',
        { id: expect.any(String), name: 'Cleo', category: null },
        ['updatePet', 'category'],
      ],
      [
        'updateInventory',
        'mutation ($petId: ID!) { updateInventory(petId: $petId, input: { quantity: 900 }) { ... on InventoryItem { petId quantity status pet { name } } } }',
        { petId: expect.any(String), quantity: 900, status: null, pet: null },
        ['updateInventory', 'status'],
      ],
    ])('%s', async (_what, mutation, expected, path) => {
      const { data, errors, status } = await writeInOutage(mutation, { petId });
      expect(status).toBe(200);
      expect(Object.values(data as object)).toEqual([expected]);
      expect(errors).toContainEqual(
        expect.objectContaining({ path, extensions: { code: 'SERVICE_UNAVAILABLE', status: 503 } }),
      );
      gateway.loggedErrors.length = 0;
    });

    it('also if a later mutation fails', async () => {
      const mutation = `mutation ($petId: ID!) {
        a: placeOrder(input: { petId: $petId, quantity: 1 }) { ... on Order { id } }
        b: adjustInventory(petId: $petId, by: 1) { ... on InventoryItem { quantity } }
      }`;
      const { data, errors } = await outage.afterStatements(1, () =>
        gateway.graphql(mutation, { petId }),
      );
      expect(data).toEqual({ a: { id: expect.any(String) }, b: null });
      expect(errors).toMatchObject([{ path: ['b'], extensions: { code: 'SERVICE_UNAVAILABLE' } }]);
      gateway.loggedErrors.length = 0;
    });

    it('also of the other mutations of the request', async () => {
      const orderId = await makeOrder(gateway, petId);
      const { data } = await writeInOutage(
        `mutation ($petId: ID!, $orderId: ID!) {
          a: placeOrder(input: { petId: $petId, quantity: 1 }) { ... on Order { id pet { category { pets { totalCount } } } } }
          b: completeOrder(id: $orderId) { ... on Order { id complete pet { name } } }
        }`,
        { petId, orderId },
      );
      expect(data).toEqual({
        a: { id: expect.any(String), pet: { category: null } },
        b: { id: orderId, complete: true, pet: null },
      });
      gateway.loggedErrors.length = 0;
    });
  });

  describe('a mistake that is known before', () => {
    const TYPES: Record<string, string> = { after: 'String', n: 'Int', yes: 'Boolean = false' };
    const placeWith = (inside: string): string => {
      const used = Object.entries(TYPES).filter(([name]) => inside.includes(`$${name}`));
      const declared = used.map(([name, type]) => `, $${name}: ${type}`).join('');
      return `mutation ($petId: ID!${declared}) {
        placeOrder(input: { petId: $petId, quantity: 1 }) { ... on Order { id pet { ...F } } }
      } fragment F on Pet { id ${inside} }`;
    };

    it.each([
      ['a page that is too large', 'orders(first: 1000) { nodes { id } }', 'INVALID_INPUT'],
      [
        'a page that is too large, in a variable',
        'orders(first: $n) { nodes { id } }',
        'INVALID_INPUT',
        { n: 1000 },
      ],
      ['first with last', 'orders(first: 1, last: 1) { nodes { id } }', 'INVALID_INPUT'],
      ['an unreadable cursor', 'orders(after: "x") { nodes { id } }', 'INVALID_CURSOR'],
      [
        'an unreadable cursor in a variable',
        'orders(after: $after) { nodes { id } }',
        'INVALID_CURSOR',
        { after: 'x' },
      ],
      [
        'a cursor of another order',
        'orders(after: "WyJJRCIsIjEiXQ", orderBy: { field: SHIP_DATE }) { nodes { id } }',
        'INVALID_CURSOR',
      ],
      ['an id in a filter', 'orders(filter: { petId: "x" }) { nodes { id } }', 'INVALID_ID'],
      [
        'a page in a page',
        'category { pets(first: 1) { nodes { orders(last: -1) { nodes { id } } } } }',
        'INVALID_INPUT',
      ],
    ])(
      'rejects a mutation before it writes: %s',
      async (_what, inside, code, variables?: object) => {
        const before = await gateway.db.prisma.order.count();
        const { data, errors, status } = await gateway.graphql(placeWith(inside), {
          petId,
          ...variables,
        });
        expect({ status, data }).toEqual({ status: 400, data: undefined });
        expect(errors).toMatchObject([{ extensions: { code }, locations: [expect.anything()] }]);
        expect(await gateway.db.prisma.order.count()).toBe(before);
      },
    );

    it.each<[string, string, Record<string, unknown>]>([
      [
        'in a condition',
        'mutation ($petId: ID!, $x: Boolean = true) { placeOrder(input: { petId: $petId, quantity: 1 }) { ... on Order { id quantity @include(if: $x) } } }',
        { x: null },
      ],
      [
        'in a condition of a fragment',
        'mutation ($petId: ID!, $x: Boolean = true) { placeOrder(input: { petId: $petId, quantity: 1 }) { ... on Order { id ...F @skip(if: $x) } } } fragment F on Order { quantity }',
        { x: null },
      ],
      [
        'in an argument of a later mutation',
        'mutation ($petId: ID!, $x: Int = 5) { a: placeOrder(input: { petId: $petId, quantity: 1 }) { __typename } b: adjustInventory(petId: $petId, by: $x) { __typename } }',
        { x: null },
      ],
      [
        'in an input of a later mutation',
        'mutation ($petId: ID!, $x: ID = 1) { a: placeOrder(input: { petId: $petId, quantity: 1 }) { __typename } b: placeOrders(input: [{ petId: $x, quantity: 1 }]) { __typename } }',
        { x: null },
      ],
    ])(
      'rejects a null that may not be, before it writes: %s',
      async (_where, mutation, variables) => {
        const before = await gateway.db.prisma.order.count();
        const { data, errors, status } = await gateway.graphql(mutation, { petId, ...variables });
        expect({ status, data }).toEqual({ status: 400, data: undefined });
        expect(errors).toMatchObject([{ extensions: { code: 'INVALID_INPUT', status: 400 } }]);
        expect(await gateway.db.prisma.order.count()).toBe(before);
      },
    );

    it('reports a mistake in a fragment once, on however many types it is', async () => {
      const { errors } = await gateway.graphql(
        `query ($nodeId: ID!, $id: ID!) { node(nodeId: $nodeId) { ...F } category(id: $id) { ...F } }
        fragment F on Node { ... on Category { pets(first: 1000) { nodes { id } } } }`,
        { nodeId: `Pet_${petId}`, id: '1' },
      );
      expect(errors).toHaveLength(1);
    });

    it('rejects nothing in fragments on other types', async () => {
      const { node } = await gateway.data(
        `query ($nodeId: ID!) { node(nodeId: $nodeId) { nodeId ... on Pet { ...F } } }
        fragment F on Node { ... on Order { pet { orders(first: 1000) { nodes { id } } } } ... on Pet { name } }`,
        { nodeId: `Pet_${petId}` },
      );
      expect(node).toEqual({ nodeId: `Pet_${petId}`, name: expect.any(String) });
    });

    it('rejects nothing in selections that are left out', async () => {
      const { data } = await gateway.graphql(
        placeWith(
          'orders(first: 1000) @include(if: $yes) { nodes { id } } ... @skip(if: true) { inventory { pet { orders(after: "x") { nodes { id } } } } }',
        ),
        { petId },
      );
      expect(data.placeOrder).toMatchObject({ id: expect.any(String) });
    });

    it('rejects a query before it reads, with all of its mistakes', async () => {
      const query = `query ($id: ID!) {
        good: pet(id: "1") { id } bad: pet(id: $id) { id } pets(first: 101) { nodes { id } } ...F ...F
      } fragment F on Query { orders(after: "x") { nodes { id } } }`;
      for (let time = 1; time <= 4; time += 1) {
        gateway.statements.length = 0;
        const { data, errors } = await gateway.graphql(query, { id: '1'.repeat(20) });
        expect(data).toBeUndefined();
        expect(errors?.map(({ extensions: { code } }) => code)).toEqual([
          'INVALID_ID',
          'INVALID_INPUT',
          'INVALID_CURSOR',
        ]);
        expect(errors?.every(({ path, locations }) => !path && locations?.length === 1)).toBe(true);
        expect(gateway.statements).toEqual([]);
      }
    });
  });
});
