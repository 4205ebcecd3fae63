import { beforeAll, describe, expect, it } from 'vitest';

import { askCost } from '../support/cost.ts';
import { useGateway, gateway } from '../support/gateway.ts';
import { makeOrder, makePet, nodeIdOf } from '../support/make.ts';
import { TIMES_UNTIL_COMPILED } from '../support/post.ts';

const NODES = `query ($nodeIds: [ID!]!) {
  nodes(nodeIds: $nodeIds) {
    __typename nodeId
    ... on Pet { name } ... on Category { name } ... on Order { quantity } ... on InventoryItem { id stock: quantity }
  }
}`;

const petIds = (count: number): string[] =>
  Array.from({ length: count }, (_, id) => nodeIdOf('Pet', `${id}`));

useGateway();
let petId: string;
let orderId: string;
let categoryId: string;
beforeAll(async () => {
  petId = await makePet(gateway, { name: 'Cleo', stock: 5 });
  orderId = await makeOrder(gateway, petId);
  ({ categoryId } = (
    await gateway.data('query ($id: ID!) { pet(id: $id) { categoryId } }', { id: petId })
  ).pet);
});

it('a nodeId is unique across the four types and loads its row, whether or not the query that returned it was compiled', async () => {
  const query = `query ($petId: ID!, $orderId: ID!) {
      pet(id: $petId) { nodeId category { nodeId pets(first: 1) { nodes { nodeId } } } inventory { id nodeId } }
      order(id: $orderId) { nodeId }
    }`;
  for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
    const { pet, order } = await gateway.data(query, { petId, orderId });
    expect(pet.inventory.id).toBe(petId);
    const nodeIds = [
      pet.nodeId,
      pet.category.nodeId,
      pet.inventory.nodeId,
      order.nodeId,
    ] as string[];
    expect(new Set(nodeIds).size).toBe(4);
    const { nodes } = await gateway.data(NODES, { nodeIds });
    expect(nodes).toMatchObject([
      { __typename: 'Pet', nodeId: nodeIds[0], name: 'Cleo' },
      { __typename: 'Category', nodeId: nodeIds[1] },
      { __typename: 'InventoryItem', nodeId: nodeIds[2], id: petId },
      { __typename: 'Order', nodeId: nodeIds[3] },
    ]);
  }
});

describe('the field node', () => {
  const NODE = 'query ($nodeId: ID!) { node(nodeId: $nodeId) { nodeId ... on Pet { name } } }';

  it('returns the row, or null if it does not exist', async () => {
    const nodeId = nodeIdOf('Pet', petId);
    expect((await gateway.data(NODE, { nodeId })).node).toEqual({ nodeId, name: 'Cleo' });
    const missing = nodeIdOf('Pet', '999999999');
    expect((await gateway.data(NODE, { nodeId: missing })).node).toBeNull();
  });

  it.each(['', 'Pet', 'Pet_', 'Pet_x', 'Pet_1_2', 'pet_1', 'Error_1', 'Pet_9223372036854775808'])(
    'rejects the nodeId %j',
    async (nodeId) => {
      const { data, errors } = await gateway.graphql(NODE, { nodeId });
      expect(data).toBeUndefined();
      expect(errors).toMatchObject([
        { extensions: { code: 'INVALID_ID', status: 400, issues: [{ path: ['nodeId'] }] } },
      ]);
    },
  );
});

describe('the field nodes', () => {
  it('returns rows in the order of the ids, including duplicates, and null for missing rows', async () => {
    const pet = nodeIdOf('Pet', petId);
    const nodeIds = [nodeIdOf('Category', categoryId), nodeIdOf('Pet', '999999999'), pet, pet];
    const { nodes } = await gateway.data(NODES, { nodeIds });
    expect(nodes.map((node: { nodeId: string } | null) => node?.nodeId ?? null)).toEqual([
      nodeIds[0],
      null,
      nodeIds[2],
      nodeIds[3],
    ]);
  });

  it('costs more for each id, and rejects more ids than the maximum page size', async () => {
    const costOf = async (count: number) =>
      (await askCost(gateway, { query: NODES, variables: { nodeIds: petIds(count) } })).cost
        .requested;
    expect((await costOf(30)) - (await costOf(20))).toBe(10 * (1 + 7));
    const { errors } = await gateway.graphql(NODES, { nodeIds: petIds(101) });
    expect(errors?.[0]?.extensions.code).toBe('INVALID_INPUT');
  });

  it('rejects the whole list if one id is invalid, and reports the index of that id', async () => {
    const { data, errors } = await gateway.graphql(NODES, { nodeIds: [`Pet_${petId}`, 'x'] });
    expect(data).toBeUndefined();
    expect(errors?.[0]?.extensions.issues?.[0]?.path).toEqual(['nodeIds', '1']);
  });
});
