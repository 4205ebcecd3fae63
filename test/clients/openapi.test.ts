import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Gateway, startGateway } from '../support/gateway.ts';
import { makeOrder, makePet } from '../support/make.ts';
import { compile, load, runGenerator } from './compiled-clients.ts';

const require = createRequire(import.meta.url);

const GENERATOR = join(dirname(require.resolve('openapi-typescript/package.json')), 'bin/cli.js');

/** What callers do with the types of the document. */
const PROGRAM = `
import createClient from 'openapi-fetch';
import type { components, paths } from './store.gen.ts';

type Schemas = components['schemas'];
type Order = Schemas['Order'];
type PetStatus = Schemas['PetStatus'];
type NewPet = Schemas['NewPet'];
type NewCategory = Schemas['NewCategory'];
type NewOrder = Schemas['NewOrder'];

const readPage = (baseUrl: string, after: number) =>
  createClient<paths>({ baseUrl }).GET('/store/orders', { params: { query: { limit: 2, after } } });
const readPet = (baseUrl: string, petId: number) =>
  createClient<paths>({ baseUrl }).GET('/pets/{petId}', { params: { path: { petId } } });
export async function listAllOrders(baseUrl: string): Promise<Order[]> {
  const all: Order[] = [];
  let after: number | undefined = 0;
  while (after !== undefined) {
    const { data, error, response } = await readPage(baseUrl, after);
    if (!data) throw new TypeError(error?.code);
    all.push(...data);
    const link = response?.headers.get('Link') ?? '';
    const [, next] = /<([^>]+)>; rel="next"/.exec(link) ?? [];
    after = next === undefined ? undefined : Number(new URL(next, baseUrl).searchParams.get('after'));
  }
  return all;
}

export async function describePet(baseUrl: string, petId: number): Promise<string> {
  const { data, error } = await readPet(baseUrl, petId);
  if (data) {
    const status: PetStatus = data.status;
    return \`\${data.name.toUpperCase()} is \${status}\`;
  }
  // @ts-expect-error -- no error has this code
  if (error?.code === 'NOT_A_CODE') return '';
  switch (error?.code) {
    case 'PET_NOT_FOUND':
      return \`not found: \${error.status.toFixed()}\`;
    default:
      return error?.code ?? 'unknown';
  }
}

export const newPet: NewPet = { name: 'Cleo', categoryId: 1 };
export const newCategory: NewCategory = { name: 'Cats' };
export const newOrder: NewOrder = { petId: 1, quantity: 1 };
export const shipDateOf = ({ shipDate }: Order): string => shipDate?.slice(0, 10) ?? 'open';
`;

const FETCH = {
  paths: { 'openapi-fetch': [dirname(require.resolve('openapi-fetch/package.json'))] },
};

interface Program {
  readonly listAllOrders: (baseUrl: string) => Promise<{ id: number }[]>;
  readonly describePet: (baseUrl: string, petId: number) => Promise<string>;
}

let gateway: Gateway;
let folder: string;
beforeAll(async () => {
  gateway = await startGateway();
  folder = mkdtempSync(join(tmpdir(), 'openapi-clients-'));
  writeFileSync(join(folder, 'openapi.json'), await (await gateway.rest('/openapi.json')).text());
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await gateway.close();
});

describe('a client that openapi-typescript generates', () => {
  it('compiles without casts, pages through the orders and distinguishes errors', async () => {
    await runGenerator(folder, GENERATOR, ['openapi.json', '--output', 'store.gen.ts']);
    const file = 'program.ts';
    writeFileSync(join(folder, file), PROGRAM);
    expect(await compile(folder, [file], FETCH)).toBe('');
    const { listAllOrders, describePet } = (await load(folder, file)) as Program;
    const petId = await makePet(gateway, { stock: 5 });
    for (let count = 0; count < 5; count += 1) await makeOrder(gateway, petId);
    const orders = (await (await gateway.rest('/store/orders')).json()) as { id: number }[];
    expect(orders.length).toBeGreaterThanOrEqual(5);
    expect(await listAllOrders(gateway.url)).toEqual(orders);
    expect(await describePet(gateway.url, Number(petId))).toBe('CLEO is available');
    expect(await describePet(gateway.url, 999_999)).toBe('not found: 404');
    expect(await describePet(gateway.url, -1)).toBe('INVALID_ID');
  });
});
