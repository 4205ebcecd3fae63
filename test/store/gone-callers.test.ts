import { EventEmitter, once } from 'node:events';

import { expect, it } from 'vitest';

import { openCopyOnPglite } from '../support/databases.ts';
import { gateway, useGateway } from '../support/gateway.ts';
import { openInitialized } from '../support/live.ts';
import { repeat } from '../support/repeat.ts';

useGateway({}, openCopyOnPglite);

/** Blocks the only session of the embedded database until the returned function is called. */
async function holdSession(): Promise<() => Promise<void>> {
  const door = new EventEmitter();
  let ended = Promise.resolve<unknown>(undefined);
  await new Promise<void>((resolve) => {
    ended = gateway.db.transaction(async () => {
      resolve();
      await once(door, 'open');
    });
  });
  return async () => {
    door.emit('open');
    await ended;
  };
}

const search = (name: string): string => `pets(filter: { name: "${name}" }) { nodes { id } }`;

it('a client that completes its operation on a WebSocket while the embedded database is busy has its queued statements dropped before they start', async () => {
  const release = await holdSession();
  const opened = await openInitialized(gateway);
  const searches = repeat(9, (index) => `s${index}: ${search(`gone${index}`)}`);
  opened.send({ type: 'subscribe', id: 'left', payload: { query: `{ ${searches} }` } });
  opened.send({ type: 'subscribe', id: 'open', payload: { query: `{ ${search('open')} }` } });
  opened.send({ type: 'complete', id: 'left' });
  opened.send({ type: 'ping' });
  expect(await opened.message()).toEqual({ type: 'pong' });
  await release();
  expect(await opened.message()).toMatchObject({ id: 'open', payload: { data: { pets: {} } } });
  opened.socket.terminate();
  // The statement of `open`, and one statement of `left` that may have started before the client completed `left`.
  const ran = gateway.statements.filter((text) => text.includes('from pets'));
  expect(ran.length).toBeLessThanOrEqual(2);
});
