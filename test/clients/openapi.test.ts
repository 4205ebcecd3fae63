import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Gateway, startGateway } from '../support/gateway.ts';
import { makeOrder, makePet } from '../support/make.ts';
import { compile, load, runGenerator } from './compiled-clients.ts';

const require = createRequire(import.meta.url);

interface Generator {
  readonly bin: string;
  readonly options: readonly string[];
  /** The declarations of its program: `readPage` and `readPet`, and the types of the document. */
  readonly program: string;
}

/** What callers do with the results, whatever the generator. */
const COMMON = `
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

const GENERATORS: Record<string, Generator> = {
  'openapi-typescript': {
    bin: join(dirname(require.resolve('openapi-typescript/package.json')), 'bin/cli.js'),
    options: ['openapi.json', '--output', 'openapi-typescript.gen.ts'],
    program: `
import createClient from 'openapi-fetch';
import type { components, paths } from './openapi-typescript.gen.ts';

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
`,
  },
  '@hey-api/openapi-ts': {
    bin: join(dirname(require.resolve('@hey-api/openapi-ts/package.json')), 'dist/run.mjs'),
    options: ['--input', 'openapi.json', '--output', 'hey-api', '--no-log-file'],
    program: `
import { getPet, listOrders } from './hey-api/index.ts';
import type { NewCategory, NewOrder, NewPet, Order, PetStatus } from './hey-api/index.ts';

const readPage = (baseUrl: string, after: number) =>
  listOrders({ baseUrl, query: { limit: 2, after } });
const readPet = (baseUrl: string, petId: number) => getPet({ baseUrl, path: { petId } });
`,
  },
};

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

/** Generates the code of a client and writes its program; returns the name of that file. */
async function generate({ bin, options, program }: Generator): Promise<string> {
  await runGenerator(folder, bin, options);
  const file = 'program.ts';
  writeFileSync(join(folder, file), program + COMMON);
  return file;
}

describe.each(Object.entries(GENERATORS))('a client that %s generates', (_name, generator) => {
  it('compiles without casts, pages through the orders and distinguishes errors', async () => {
    const file = await generate(generator);
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
