import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Gateway, type GraphqlAnswer, startGateway } from '../support/gateway.ts';
import { makePet } from '../support/make.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

const NOTICE = {
  coordinate: 'StaleInventory.quantity',
  deprecatedSince: '2026-11-21',
  successor: 'StaleInventory.available',
};

/** Changes the stock of a new pet and returns the result. */
async function update(selection: string, expected = 5): Promise<Omit<GraphqlAnswer, 'status'>> {
  const petId = await makePet(gateway, { stock: 3 });
  const { data, errors, extensions } = await gateway.graphql(
    `mutation ($petId: ID!, $expected: Int) {
      updateInventory(petId: $petId, input: { quantity: 7 }, expectedQuantity: $expected) {
        ... on StaleInventory ${selection}
      }
    }`,
    { petId, expected },
  );
  return { data, errors, extensions };
}

describe('a response', () => {
  it('reports a deprecated field that is selected, and its successor', async () => {
    expect(await update('{ quantity available }')).toEqual({
      data: { updateInventory: { quantity: 3, available: 3 } },
      extensions: { deprecations: [NOTICE] },
    });
  });

  it('reports it once for an alias and a fragment', async () => {
    const { extensions } = await update('{ stock: quantity ... on StaleInventory { quantity } }');
    expect(extensions).toEqual({ deprecations: [NOTICE] });
  });

  it('reports it although the result does not contain it', async () => {
    const { data, extensions } = await update('{ quantity }', 3);
    expect(data).toEqual({ updateInventory: {} });
    expect(extensions).toEqual({ deprecations: [NOTICE] });
  });

  it('has no extensions without a deprecated field', async () => {
    expect(await update('{ available }')).toEqual({
      data: { updateInventory: { available: 3 } },
    });
  });

  it('to introspection contains deprecated fields', async () => {
    const { __type: type } = await gateway.data(`{
      __type(name: "StaleInventory") { fields(includeDeprecated: true) { name deprecationReason } }
    }`);
    expect(type.fields).toContainEqual({
      name: 'quantity',
      deprecationReason: 'Deprecated since 2026-11-21: use StaleInventory.available.',
    });
    const { __schema: schema } = await gateway.data('{ __schema { directives { name } } }');
    expect(schema.directives).toContainEqual({ name: 'requiresOptIn' });
  });
});
