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

/** What an operation that changes a pet's stock is answered. */
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

describe('an answer', () => {
  it('tells of a deprecated field that was asked for, and what replaces it', async () => {
    expect(await update('{ quantity available }')).toEqual({
      data: { updateInventory: { quantity: 3, available: 3 } },
      extensions: { deprecations: [NOTICE] },
    });
  });

  it('tells of one behind an alias and in a fragment, once', async () => {
    const { extensions } = await update('{ stock: quantity ... on StaleInventory { quantity } }');
    expect(extensions).toEqual({ deprecations: [NOTICE] });
  });

  it('tells of one whatever came of it', async () => {
    const { data, extensions } = await update('{ quantity }', 3);
    expect(data).toEqual({ updateInventory: {} });
    expect(extensions).toEqual({ deprecations: [NOTICE] });
  });

  it('has no extensions where nothing is deprecated', async () => {
    expect(await update('{ available }')).toEqual({
      data: { updateInventory: { available: 3 } },
    });
  });

  it('to introspection is whole, with what is deprecated', async () => {
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
