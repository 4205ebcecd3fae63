import { parse } from 'graphql';
import { expect, it } from 'vitest';

import { createApolloClient } from '../../docs/examples/apollo/client.ts';
import { startGateway } from '../support/gateway.ts';
import { AUTH_BY_SECRET, mint } from '../support/tokens.ts';

it('the Apollo client repeats a request once with a new token, if the gateway rejects the old one', async () => {
  const gateway = await startGateway(AUTH_BY_SECRET);
  const tokens = ['none', 'none', await mint({ scope: 'read' })];
  let token = tokens.shift() ?? '';
  let requests = 0;
  const client = createApolloClient(
    `${gateway.url}/graphql`,
    {},
    {
      fetch: (input, init) => {
        requests += 1;
        const headers = new Headers(init?.headers);
        headers.set('Authorization', `Bearer ${token}`);
        return fetch(input, { ...init, headers });
      },
      renew: async () => {
        token = tokens.shift() ?? '';
      },
    },
  );
  const query = parse('{ pets(first: 1) { totalCount } }');
  await expect(client.query({ query })).rejects.toThrow(/token/);
  expect(requests).toBe(2);
  expect((await client.query({ query })).data).toMatchObject({ pets: { totalCount: 0 } });
  expect(requests).toBe(4);
  await gateway.close();
});
