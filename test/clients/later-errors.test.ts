import { buildSchema, introspectionFromSchema, parse } from 'graphql';
import { expect, it } from 'vitest';

import { createApolloClient } from '../../docs/examples/apollo/client.ts';
import { createUrqlClient } from '../../docs/examples/urql/client.ts';
import { gateway, useGateway } from '../support/gateway.ts';
import { schemaWithout } from './older-schema.ts';
import { PLACE_ORDER } from './operations.ts';
import { readPossibleTypes } from './possible-types.ts';

// The clients were built with an older schema, which did not contain this error.
const LATER = 'PetNotFound';
const variables = { input: { petId: '0', quantity: 1 } };

useGateway();
const toUrl = (): string => `${gateway.url}/graphql`;

it('Apollo Client returns the fields of an error whose type was added after the client was built', async () => {
  const possibleTypes = Object.entries(await readPossibleTypes(gateway.url)).map(
    ([name, types]) => [name, types.filter((type) => type !== LATER)] as const,
  );
  const client = createApolloClient(toUrl(), Object.fromEntries(possibleTypes));
  const { data } = await client.mutate({ mutation: parse(PLACE_ORDER), variables });
  expect(data).toEqual({
    placeOrder: {
      __typename: LATER,
      code: 'PET_NOT_FOUND',
      message: 'There is no pet 0.',
      httpStatus: 404,
    },
  });
});

it('urql with Graphcache returns an error in `error`, not in `data`, if its type was added after the client was built', async () => {
  const older = introspectionFromSchema(buildSchema(schemaWithout(LATER)));
  const client = createUrqlClient(toUrl(), older);
  const { data, error } = await client.mutation(PLACE_ORDER, variables);
  expect(data).toEqual({ placeOrder: null });
  expect(error?.graphQLErrors).toMatchObject([
    { message: 'There is no pet 0.', extensions: { code: 'PET_NOT_FOUND' } },
  ]);
});
