import { expect, it } from 'vitest';

import { createOwnWritesFetch } from '../../docs/examples/own-writes.ts';

it('createOwnWritesFetch() sends, with each request, the highest position received so far', async () => {
  const received: (string | null)[] = [];
  // Responds like a gateway with replicas, which returns the positions of writes.
  const fetchOwnWrites = createOwnWritesFetch(async (url, init) => {
    received.push(new Headers(init?.headers).get('Store-Position'));
    const position = new URL(url instanceof Request ? url.url : url).searchParams.get('written');
    return new Response(null, { headers: position ? { 'Store-Position': position } : {} });
  });
  for (const search of ['', '?written=0a', '', '?written=09', '']) {
    await fetchOwnWrites(`http://localhost/graphql${search}`);
  }
  expect(received).toEqual([null, null, '0a', '0a', '0a']);
});
