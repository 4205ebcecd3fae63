import { describe, expect, it } from 'vitest';

import { useGateway, gateway } from '../support/gateway.ts';
import { makeCategory, makePet, mutate, stockOf } from '../support/make.ts';

type Lines = Record<string, unknown>[];

const ISSUES = '... on InvalidInput { issues { path code line } }';

const createPets = (input: Lines) =>
  mutate(
    gateway,
    'createPets',
    { input },
    `... on CreatedPets { pets { id name categoryId status } } ${ISSUES}`,
  );
const updatePets = (input: Lines) =>
  mutate(
    gateway,
    'updatePets',
    { input },
    `... on UpdatedPets { pets { id name categoryId status } } ${ISSUES}`,
  );
const updateInventories = (input: Lines) =>
  mutate(
    gateway,
    'updateInventories',
    { input },
    `... on UpdatedInventories { inventory { petId quantity } }`,
  );
const adjustInventories = (input: Lines) =>
  mutate(
    gateway,
    'adjustInventories',
    { input },
    `... on AdjustedInventories { inventory { petId quantity } }`,
  );

useGateway();
describe('creating several pets', () => {
  it('returns the pets in input order, and stores the pets and their stock with one statement', async () => {
    const categoryId = await makeCategory(gateway);
    const input = Array.from({ length: 1000 }, (_, index) => ({
      name: `Pet ${index}`,
      categoryId,
      ...(index % 2 === 0 && { quantity: index, status: 'SOLD' }),
    }));
    gateway.statements.length = 0;
    const { pets } = await createPets(input);
    expect(gateway.statements).toHaveLength(1);
    expect(pets.map(({ name }: { name: string }) => name)).toEqual(input.map(({ name }) => name));
    expect(pets[8]).toMatchObject({ categoryId, status: 'SOLD' });
    expect(await stockOf(gateway, pets[8].id)).toBe(8);
    const ids = [pets[9].id];
    const unset = await gateway.data(
      'query ($ids: [ID!]) { pets(filter: { ids: $ids }) { nodes { inventory { petId } } } }',
      { ids },
    );
    expect(unset.pets.nodes).toEqual([{ inventory: null }]);
  });

  it('reports all invalid entries together, and rejects more than a thousand entries', async () => {
    const valid = { name: 'Ida', categoryId: '1' };
    expect(
      await createPets([{ ...valid, name: '' }, valid, { ...valid, categoryId: 'x' }]),
    ).toEqual({
      code: 'INVALID_INPUT',
      issues: [
        { path: ['input', '0', 'name'], code: 'REQUIRED', line: 0 },
        { path: ['input', '2', 'categoryId'], code: 'INVALID_ID', line: 2 },
      ],
    });
    const { errors } = await gateway.graphql(
      'mutation ($input: [NewPet!]!) { createPets(input: $input) { __typename } }',
      { input: Array.from({ length: 1001 }, () => valid) },
    );
    expect(errors?.[0]?.extensions.code).toBe('INVALID_INPUT');
  });
});

describe('changing several pets', () => {
  it('changes only the given fields of each pet, using one statement', async () => {
    const categoryId = await makeCategory(gateway);
    const [a, b, c] = await Promise.all(
      ['A', 'B', 'C'].map((name) => makePet(gateway, { name, categoryId })),
    );
    gateway.statements.length = 0;
    const { pets } = await updatePets([{ id: c, name: 'Z' }, { id: a, status: 'SOLD' }, { id: b }]);
    expect(gateway.statements).toHaveLength(2);
    expect(pets).toEqual([
      { id: c, name: 'Z', categoryId, status: 'AVAILABLE' },
      { id: a, name: 'A', categoryId, status: 'SOLD' },
      { id: b, name: 'B', categoryId, status: 'AVAILABLE' },
    ]);
    expect((await updatePets([{ id: b }])).pets).toEqual([pets[2]]);
  });

  it('rejects two entries for the same pet', async () => {
    const id = await makePet(gateway);
    expect(await updatePets([{ id }, { id: `0${id}` }])).toEqual({
      code: 'INVALID_INPUT',
      issues: [{ path: ['input', '1', 'id'], code: 'INVALID_VALUE', line: 1 }],
    });
  });
});

describe('the stock of several pets', () => {
  it('is set or adjusted by one statement, which also creates missing inventory items', async () => {
    const stocked = await makePet(gateway, { stock: 5 });
    const bare = await makePet(gateway);
    gateway.statements.length = 0;
    const set = [
      { petId: bare, quantity: 3, expectedQuantity: 0 },
      { petId: stocked, quantity: 9 },
    ];
    const { inventory } = await updateInventories(set);
    expect(gateway.statements).toHaveLength(1);
    expect(inventory).toEqual([
      { petId: bare, quantity: 3 },
      { petId: stocked, quantity: 9 },
    ]);
    const other = await makePet(gateway);
    gateway.statements.length = 0;
    const adjusted = await adjustInventories([
      { petId: other, by: 4 },
      { petId: stocked, by: -9 },
    ]);
    expect(gateway.statements).toHaveLength(1);
    expect(adjusted.inventory).toEqual([
      { petId: other, quantity: 4 },
      { petId: stocked, quantity: 0 },
    ]);
    expect(await stockOf(gateway, stocked)).toBe(0);
  });
});
