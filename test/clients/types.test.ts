import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { beforeAll, describe, expect, it } from 'vitest';

import { useFolder } from '../support/folders.ts';
import { gateway, useGateway } from '../support/gateway.ts';
import { makePet, stockOf } from '../support/make.ts';
import { compile, load, runGenerator } from './compiled-clients.ts';
import { watchFetch } from './watched-fetch.ts';

const MODULES = resolve('test/clients/node_modules');

/** Reads a file from types/. */
const read = (file: string): string =>
  readFileSync(new URL(`types/${file}`, import.meta.url), 'utf8');

const TSCONFIG = read('tsconfig.json');
const { compilerOptions } = JSON.parse(TSCONFIG) as { compilerOptions: object };

/** The command of each generator, without `npx`, and the file that only it needs. */
const SET_UPS = {
  'GraphQL Code Generator': ['graphql-codegen', 'codegen.ts'],
  'gql.tada': ['gql.tada generate-output', 'graphql.ts'],
} as const;

type NewOrder = { petId: string; quantity: number; shipDate: string };

interface Store {
  readonly listPets: (status: string[]) => Promise<{ id: string; name: string }[]>;
  readonly renamePet: (id: string, name: string) => Promise<string>;
  readonly placeOrder: (order: NewOrder) => Promise<string>;
  readonly readSales: (after: string) => Promise<string[]>;
}

interface Program {
  readonly openStore: (url: string, options?: { fetch?: typeof fetch }) => Store;
}

/** Writes the files of a setup and the schema to a folder, and runs the setup's generator. */
async function generate(folder: string, command: string, own: string, schema: string) {
  symlinkSync(MODULES, join(folder, 'node_modules'));
  const given = { 'tsconfig.json': TSCONFIG, 'schema.graphql': schema };
  for (const [file, text] of Object.entries(given)) writeFileSync(join(folder, file), text);
  for (const file of [own, 'operations.ts', 'store.ts']) {
    writeFileSync(join(folder, file), read(`${file}.txt`));
  }
  const [bin = '', ...options] = command.split(' ');
  await runGenerator(folder, join(MODULES, '.bin', bin), options);
}

useGateway();
const folders = new Map(Object.keys(SET_UPS).map((name) => [name, useFolder()]));
const folderOf = (name: string): string => folders.get(name) ?? '';
beforeAll(async () => {
  const schema = await (await gateway.rest('/schema.graphql')).text();
  await Promise.all(
    Object.entries(SET_UPS).map(([name, [command, own]]) =>
      generate(folderOf(name), command, own, schema),
    ),
  );
});

describe.each(Object.keys(SET_UPS))('graphql-request with %s', (name) => {
  let open: Program['openStore'];
  let store: Store;
  beforeAll(async () => {
    ({ openStore: open } = (await load(folderOf(name), 'store.ts')) as Program);
    store = open(`${gateway.url}/graphql`);
  });

  it('compiles in strict mode, and the compiler rejects requests that the schema does not allow', async () => {
    expect(await compile(folderOf(name), ['store.ts'], compilerOptions)).toBe('');
  });

  it('reads all pages of a list filtered by an enum', async () => {
    const status = 'PENDING';
    const made: object[] = [];
    for (let count = 0; count < 5; count += 1)
      made.push({ id: await makePet(gateway, { status, name }), name, status });
    const pets = await store.listPets([status]);
    expect(pets.filter((pet) => pet.name === name)).toEqual(made);
  });

  it('distinguishes a changed row from an error', async () => {
    const id = await makePet(gateway, { status: 'SOLD' });
    expect(await store.renamePet(id, 'Luna')).toBe('Luna is sold');
    const error = '404 PET_NOT_FOUND: There is no pet 999999.';
    expect(await store.renamePet('999999', 'Luna')).toBe(error);
  });

  it('sends and receives a date as a string', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const order = { petId, quantity: 4, shipDate: '2100-01-31T23:00:00-02:00' };
    expect(await store.placeOrder(order)).toBe('ships on 2100-02-01');
    expect(await store.placeOrder(order)).toBe('only 1 left');
    expect(await store.placeOrder({ ...order, petId: 'x' })).toBe('INVALID_INPUT');
  });

  it('reads groups with months as strings and sums as numbers', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    await store.placeOrder({ petId, quantity: 2, shipDate: '2200-02-28T00:00:00Z' });
    expect(await store.readSales('2200-01-01T00:00:00Z')).toEqual([
      expect.stringMatching(/^2200-02: \d+$/),
    ]);
  });

  it('places only one order if it retries with the same idempotency key after a lost response', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const watched = watchFetch();
    watched.loseNext();
    const lossy = open(`${gateway.url}/graphql`, { fetch: watched.fetch });
    const order = { petId, quantity: 1, shipDate: '2100-01-31T00:00:00Z' };
    expect(await lossy.placeOrder(order)).toBe('ships on 2100-01-31');
    expect(watched.methods).toEqual(['POST', 'POST']);
    expect(await stockOf(gateway, petId)).toBe(4);
  });
});

it('the files that GraphQL Code Generator writes compile with nodenext', async () => {
  const folder = folderOf('GraphQL Code Generator');
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const options = { module: 'nodenext', moduleResolution: 'nodenext' };
  expect(await compile(folder, ['graphql/index.ts'], options)).toBe('');
});
