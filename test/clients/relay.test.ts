import { expect, it } from 'vitest';

import { gateway, useGateway } from '../support/gateway.ts';
import { makePet } from '../support/make.ts';
import { schemaWithout } from './older-schema.ts';
import { loadRelayProgram } from './relay-program.ts';
import { watchFetch } from './watched-fetch.ts';

useGateway();

it('Relay returns an error that its schema lacks, and repeats no write without an idempotency key', async () => {
  const { createEnvironment, mutate, operations } = await loadRelayProgram(
    schemaWithout('PetNotFound'),
  );
  const watched = watchFetch();
  const environment = createEnvironment(`${gateway.url}/graphql`, watched.fetch);
  const order = (petId: string): Promise<unknown> =>
    mutate(environment, operations.orderMutation, { input: { petId, quantity: 1 } });
  expect(await order('0')).toMatchObject({
    placeOrder: { __typename: 'PetNotFound', code: 'PET_NOT_FOUND', httpStatus: 404 },
  });
  watched.loseNext();
  await expect(order(await makePet(gateway, { stock: 5 }))).rejects.toThrow('fetch failed');
  expect(watched.methods).toEqual(['POST', 'POST']);
});
