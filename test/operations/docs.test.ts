import { execFileSync } from 'node:child_process';

import { expect, it } from 'vitest';

import { useProgram, useProgramStore } from '../support/databases.ts';
import { blocksOf, read, requestOf } from '../support/documents.ts';
import { post } from '../support/post.ts';

const [starting = '', calling = ''] = blocksOf(read('docs/access.md'))
  .filter(({ language }) => language === 'sh')
  .map(({ text }) => text);
const variables = starting.matchAll(/([A-Z_]+)=(\S+)/g);
const environment = Object.fromEntries(
  Array.from(variables, ([, name = '', value = '']) => [name, value]),
);
const [creating = '', curl = ''] = calling.split('\ncurl ');
const [sample] = blocksOf(read('docs/observability.md')).filter(({ text }) =>
  text.includes('"requestId"'),
);

const store = useProgramStore('PGlite');
const program = useProgram(store, { ...environment, LOG_LEVEL: 'debug' });

it('a gateway started as docs/access.md shows accepts the token created there, and logs requests as docs/observability.md shows, without the token', async () => {
  const print = `${creating}\nprintf %s "$TOKEN"`;
  const token = execFileSync('sh', ['-c', print], { encoding: 'utf8' });
  const headers = { authorization: `Bearer ${token}` };
  const url = program.url + requestOf(curl).path;
  expect((await fetch(url)).status).toBe(401);
  expect((await fetch(url, { headers })).status).toBe(200);
  const query = `mutation Place {
    placeOrder(input: { petId: "1", quantity: 1000 }) { ... on Order { id quantity shipDate complete } } }`;
  await post(program, { query }, { headers });
  await program.stop();

  const lines = program.entries.filter(({ operationName }) => operationName === 'Place');
  const ofRequest = lines.find(({ sql }) => sql === undefined);
  // Each statement has the id of its request.
  expect(lines.some(({ sql, requestId }) => sql && requestId === ofRequest?.['requestId'])).toBe(
    true,
  );
  expect(ofRequest).toEqual({
    ...(JSON.parse(sample?.text ?? '') as object),
    time: expect.any(String),
    requestId: expect.any(String),
    ms: expect.any(Number),
    queueMs: expect.any(Number),
    sqlMs: expect.any(Number),
  });
  const log = JSON.stringify(program.entries);
  for (const part of [...token.split('.'), environment['AUTH_SECRET'], 'somebody']) {
    expect(log).not.toContain(part);
  }
});
