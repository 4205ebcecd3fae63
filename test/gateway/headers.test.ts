import { expect, it } from 'vitest';

import { gateway, useGateway } from '../support/gateway.ts';

useGateway();

const ASK = '/graphql?query=%7Basked:__typename%7D';
const ASSET = '/assets/page.css';

it.each([
  ['may not store', 'no-store', '/ready'],
  ['may not store', 'no-store', '/metrics'],
  ['may not store', 'no-store', '/store/orders?limit=1'],
  ['may not store', 'no-store', '/pets/999'],
  ['may not store', 'no-store', ASK],
  ['must revalidate', 'no-cache', ASSET],
  ['must revalidate', 'no-cache', '/'],
  ['must revalidate', 'no-cache', '/openapi.json'],
  ['must revalidate', 'no-cache', '/schema.graphql'],
])('a cache %s (Cache-Control: %s) the response to a browser for %s', async (_may, value, path) => {
  const accept = path === ASK ? 'application/json' : 'text/html';
  const response = await fetch(gateway.url + path, { headers: { accept } });
  expect(response.headers.get('cache-control')).toBe(value);
});

it('the error for an unknown path tells caches that it depends on Accept', async () => {
  const response = await fetch(`${gateway.url}/no/such/path`);
  expect(response.headers.get('vary')).toContain('accept');
});
