import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { expect, it } from 'vitest';

import { createRenewLink } from '../../docs/examples/apollo/renew-token.ts';
import { startGateway } from '../support/gateway.ts';
import { AUTH_BY_SECRET, mint } from '../support/tokens.ts';

it('createRenewLink() repeats a request once with a new token, if the gateway rejects the old one', async () => {
  const gateway = await startGateway(AUTH_BY_SECRET);
  const tokens = ['none', 'none', await mint({ scope: 'read' })];
  let token = tokens.shift() ?? '';
  let requests = 0;
  const http = new HttpLink({
    uri: `${gateway.url}/graphql`,
    fetch: (input, init) => {
      requests += 1;
      const headers = new Headers(init?.headers);
      headers.set('Authorization', `Bearer ${token}`);
      return fetch(input, { ...init, headers });
    },
  });
  const renew = async (): Promise<void> => {
    token = tokens.shift() ?? '';
  };
  const link = ApolloLink.from([createRenewLink(renew), http]);
  const client = new ApolloClient({ cache: new InMemoryCache(), link });
  const query = gql`
    {
      pets(first: 1) {
        totalCount
      }
    }
  `;
  await expect(client.query({ query })).rejects.toThrow(/token/);
  expect(requests).toBe(2);
  expect((await client.query({ query })).data).toMatchObject({ pets: { totalCount: 0 } });
  expect(requests).toBe(4);
  await gateway.close();
});
