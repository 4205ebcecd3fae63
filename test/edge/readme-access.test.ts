import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { ROOT } from '../../src/config/root.ts';
import { post } from '../support/post.ts';
import { killPrograms, type Program, startProgram } from '../support/program.ts';

const readme = readFileSync(new URL('README.md', ROOT), 'utf8');
const [, section = ''] = /^## Access$(.*?)^## /ms.exec(readme) ?? [];
const [starting = '', asking = ''] = [...section.matchAll(/```sh\n(.*?)```/gs)].map(
  ([, text = '']) => text,
);
const environment = Object.fromEntries(
  [...starting.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
);
const [minting = '', curl = ''] = asking.split('\ncurl ');

let folder: string;
let program: Program;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'store-'));
  program = await startProgram({ ...environment, DATA_DIR: folder, LOG_LEVEL: 'debug' });
});
afterAll(async () => {
  killPrograms();
  await rm(folder, { recursive: true, force: true });
});

it('lets in who follows the README, and writes nothing of the token into its log', async () => {
  const script = `${minting}\nprintf %s "$TOKEN"`;
  const token = execFileSync('sh', ['-c', script], { cwd: ROOT, encoding: 'utf8' });
  expect(token.split('.')).toHaveLength(3);
  const path = /http:\/\/127\.0\.0\.1:4000(\S+)/.exec(curl)?.[1] ?? '';
  const ask = async (authorization: string): Promise<number> =>
    (await fetch(program.url + path, { headers: { authorization } })).status;
  expect(await ask(`Bearer ${token}`)).toBe(200);
  expect(await ask(`Bearer ${token}x`)).toBe(401);
  expect(await ask(token)).toBe(401);
  const query = `mutation {
    createCategory(input: { name: "Rats" }, idempotencyKey: "1") { ... on Category { name } } }`;
  const answer = await post(program, { query }, { headers: { authorization: `Bearer ${token}` } });
  expect(await answer.json()).toEqual({ data: { createCategory: { name: 'Rats' } } });
  await program.stop();
  const log = JSON.stringify(program.entries);
  expect(log).toContain('insert into idempotency_keys');
  expect(log).not.toContain('somebody');
  for (const part of [...token.split('.'), environment['AUTH_SECRET']]) {
    expect(log).not.toContain(part);
  }
});
