import { expect, it, onTestFinished, vi } from 'vitest';

import { createOwnWritesFetch } from '../../docs/examples/own-writes.ts';

it('createOwnWritesFetch() sends the last position that it has received, for a minute after the write', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const received: (string | null)[] = [];
  // Responds like a gateway with replicas, which returns the positions of writes.
  const fetchOwnWrites = createOwnWritesFetch(async (url, init) => {
    received.push(new Headers(init?.headers).get('Store-Position'));
    const position = new URL(url instanceof Request ? url.url : url).searchParams.get('written');
    return new Response(null, { headers: position ? { 'Store-Position': position } : {} });
  });
  for (const search of ['', '?written=0a', '', '?written=0b', '']) {
    await fetchOwnWrites(`http://localhost/graphql${search}`);
  }
  expect(received.splice(0)).toEqual([null, null, '0a', '0a', '0b']);
  for (const ms of [59_000, 2000, 0]) {
    vi.advanceTimersByTime(ms);
    await fetchOwnWrites('http://localhost/graphql');
  }
  expect(received).toEqual(['0b', null, null]);
});
