import { describe, expect, it } from 'vitest';

import { useGateway, gateway } from '../support/gateway.ts';
import { makeCategory, makePet, mutate, stockOf } from '../support/make.ts';

type Lines = Record<string, unknown>[];

const ISSUES = '... on InvalidInput { message issueCount issues { path code message line } }';

const createPets = (input: Lines) =>
  mutate(gateway, 'createPets', { input }, '... on CreatedPets { pets { id name } }');
const placeOrders = (input: Lines) =>
  mutate(
    gateway,
    'placeOrders',
    { input },
    `... on PlacedOrders { orders { quantity } } ${ISSUES}`,
  );

useGateway();

describe('a mutation of several rows', () => {
  it('creates up to a thousand, in the order of the input, and their stock, with one statement', async () => {
    const categoryId = await makeCategory(gateway);
    const input = Array.from({ length: 1000 }, (_, index) => ({
      name: `Pet ${index}`,
      categoryId,
      ...(index % 2 === 0 && { quantity: index }),
    }));
    gateway.statements.length = 0;
    const { pets } = await createPets(input);
    expect(gateway.statements).toHaveLength(1);
    expect(pets.map(({ name }: { name: string }) => name)).toEqual(input.map(({ name }) => name));
    expect(await stockOf(gateway, pets[8].id)).toBe(8);
    const lines = pets.map(({ id: petId }: { id: string }) => ({ petId, quantity: 2 }));
    const served = lines.filter((_line: object, index: number) => index % 2 === 0).slice(1);
    expect((await placeOrders(served)).orders).toHaveLength(499);
  });

  it.each([
    ['createPets', '[NewPet!]!', { name: 'Ida', categoryId: '1' }],
    ['placeOrders', '[NewOrder!]!', { petId: '1', quantity: 1 }],
  ])('rejects more than a thousand lines: %s', async (name, type, line) => {
    const query = `mutation ($input: ${type}) { made: ${name}(input: $input) { __typename } }`;
    const { errors } = await gateway.graphql(query, { input: Array<object>(1001).fill(line) });
    expect(errors?.[0]?.extensions.code).toBe('INVALID_INPUT');
  });

  it('reports all invalid lines together', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const shipDates = [
      '1990-01-05T00:00:00Z',
      undefined,
      '2100-01-05T00:00:00Z',
      '2020-02-29T00:00:00Z',
    ];
    const cart = shipDates.map((shipDate) => ({ petId, quantity: 1, shipDate }));
    const { code, issues } = await placeOrders(cart);
    const message = 'Ship date must not be more than a day in the past.';
    const past = (line: number) => ({
      path: ['input', String(line), 'shipDate'],
      code: 'TOO_SMALL',
      message,
      line,
    });
    expect([code, issues]).toEqual(['INVALID_INPUT', [past(0), past(3)]]);
    expect(await stockOf(gateway, petId)).toBe(5);
  });

  it('counts 150 invalid lines, but reports only 100 of them, and only ten in the message', async () => {
    const input = Array.from({ length: 150 }, () => ({ petId: '1', quantity: 0 }));
    const { message, issues, issueCount } = await placeOrders(input);
    expect(issueCount).toBe(150);
    expect(issues).toHaveLength(100);
    expect(message.match(/Quantity must be at least 1\./g)).toHaveLength(10);
  });
});
