import Fastify from 'fastify';
import { expect, it } from 'vitest';

import { serveAsset } from '../../src/gateway/site/assets.ts';

it('an asset that is built on first request is built a second time only if the first attempt failed', async () => {
  let made = 0;
  const serve = serveAsset(async () => {
    made += 1;
    if (made === 1) throw new Error('EMFILE');
    return { type: 'text/plain', content: 'whole' };
  });
  const app = Fastify().get('/', serve);
  expect((await app.inject('/')).statusCode).toBe(500);
  expect(await app.inject('/')).toMatchObject({ statusCode: 200, body: 'whole' });
  await app.inject('/');
  expect(made).toBe(2);
});
