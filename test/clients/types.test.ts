import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ROOT } from '../../src/config/root.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { makePet, stockOf } from '../support/make.ts';
import { compile, load, runGenerator } from './compiled-clients.ts';

const MODULES = fileURLToPath(new URL('test/clients/node_modules', ROOT));
const GUIDE = readFileSync(new URL('docs/clients-types.md', ROOT), 'utf8');

/** Reads a program of types/. */
const read = (file: string): string =>
  readFileSync(new URL(`types/${file}`, import.meta.url), 'utf8');

const TSCONFIG = read('tsconfig.json');
const OPERATIONS = read('operations.ts.txt');
const STORE = read('store.ts.txt');
const CODEGEN = read('codegen.ts.txt');
const TADA = read('graphql.ts.txt');
const GENQL_STORE = read('genql-store.ts.txt');

const { compilerOptions } = JSON.parse(TSCONFIG) as { compilerOptions: object };

interface SetUp {
  /** The command of the generator, without `npx`. */
  readonly command: string;
  readonly files: Readonly<Record<string, string>>;
}

const CODE_GENERATOR: SetUp = {
  command: 'graphql-codegen',
  files: { 'codegen.ts': CODEGEN, 'operations.ts': OPERATIONS, 'store.ts': STORE },
};
const GQL_TADA: SetUp = {
  command: 'gql.tada generate-output',
  files: { 'graphql.ts': TADA, 'operations.ts': OPERATIONS, 'store.ts': STORE },
};
const GENQL: SetUp = {
  command: 'genql --schema schema.graphql --output genql --scalar DateTime:string',
  files: { 'store.ts': GENQL_STORE },
};

const SET_UPS = {
  'graphql-request with GraphQL Code Generator': CODE_GENERATOR,
  'graphql-request with gql.tada': GQL_TADA,
  genql: GENQL,
};

interface Store {
  readonly listPets: (status: string[]) => Promise<{ id: string; name: string }[]>;
  readonly renamePet: (id: string, name: string) => Promise<string>;
  readonly placeOrder: (order: {
    petId: string;
    quantity: number;
    shipDate: string;
  }) => Promise<string>;
  readonly namesOf: (left: string, right: string) => Promise<string[]>;
  readonly followPets: (ids: string[], after: string | null) => AsyncGenerator<string>;
}

interface Program {
  readonly openStore: (url: string, options?: { fetch?: typeof fetch }) => Store;
}

const UTC_TIME = 'export type UtcTime = `${string}Z`;';
const UTC_CHECK = `
import type { ResultOf } from '@graphql-typed-document-node/core';
import { PLACE_ORDER } from './operations';
import type { UtcTime } from './utc-time';

type Order = Extract<ResultOf<typeof PLACE_ORDER>['placeOrder'], { __typename: 'Order' }>;
export const toTime = ({ shipDate }: Order): UtcTime | null => shipDate;
// @ts-expect-error -- not a time in UTC
export const order: Order = { __typename: 'Order', shipDate: '2030-01-31' };
`;
const CODEGEN_SCALARS = "DateTime: { input: 'string', output: '../utc-time#UtcTime' }";
const TADA_SCALARS = 'DateTime: UtcTime';

/** Returns a set-up with other files, and with a check of its own type of DateTime. */
const withOwn = ({ command, files }: SetUp, own: Record<string, string>): SetUp => ({
  command,
  files: { ...files, ...own, 'utc-time.ts': UTC_TIME, 'check.ts': UTC_CHECK },
});

const OWN_TYPES = {
  'GraphQL Code Generator': withOwn(CODE_GENERATOR, {
    'codegen.ts': CODEGEN.replace("DateTime: 'string'", CODEGEN_SCALARS),
  }),
  'gql.tada': withOwn(GQL_TADA, {
    'graphql.ts': `import type { UtcTime } from './utc-time';\n${TADA.replace('DateTime: string', TADA_SCALARS)}`,
  }),
};

/** Writes the files of a set-up and the schema to a new folder, runs its generator and returns the folder. */
async function generate({ command, files }: SetUp, schema: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'typed-clients-'));
  symlinkSync(MODULES, join(folder, 'node_modules'));
  const all = { 'tsconfig.json': TSCONFIG, 'schema.graphql': schema, ...files };
  for (const [file, text] of Object.entries(all)) writeFileSync(join(folder, file), text);
  const [bin = '', ...options] = command.split(' ');
  await runGenerator(folder, join(MODULES, '.bin', bin), options);
  return folder;
}

let gateway: Gateway;
const folders = new Map<string, string>();
const folderOf = (name: string): string => folders.get(name) ?? '';
beforeAll(async () => {
  gateway = await startGateway();
  const schema = await (await gateway.rest('/schema.graphql')).text();
  await Promise.all(
    Object.entries({ ...SET_UPS, ...OWN_TYPES }).map(async ([name, setUp]) =>
      folders.set(name, await generate(setUp, schema)),
    ),
  );
});
afterAll(async () => {
  for (const folder of folders.values()) rmSync(folder, { recursive: true });
  await gateway.close();
});

describe.each(Object.keys(SET_UPS))('a client of %s', (name) => {
  const hasNoAliases = name === 'genql';
  let open: Program['openStore'];
  let store: Store;
  beforeAll(async () => {
    ({ openStore: open } = (await load(folderOf(name), 'store.ts')) as Program);
    store = open(`${gateway.url}/graphql`);
  });

  it('compiles in strict mode, and rejects what the schema does not allow', async () => {
    expect(await compile(folderOf(name), ['store.ts'], compilerOptions)).toBe('');
  });

  it('reads all pages of a list by an enum', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      ids.push(await makePet(gateway, { status: 'PENDING', name }));
    }
    const pets = await store.listPets(['PENDING']);
    expect(pets.filter((pet) => pet.name === name)).toEqual(
      ids.map((id) => ({ id, name, status: 'PENDING' })),
    );
  });

  it('distinguishes a changed row from an error', async () => {
    const id = await makePet(gateway, { status: 'SOLD' });
    expect(await store.renamePet(id, 'Luna')).toBe('Luna is sold');
    const error = 'PET_NOT_FOUND: There is no pet 999999.';
    expect(await store.renamePet('999999', 'Luna')).toBe(hasNoAliases ? error : `404 ${error}`);
  });

  it('sends a date and gets one as a string', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    const order = { petId, quantity: 4, shipDate: '2030-01-31T23:00:00-02:00' };
    expect(await store.placeOrder(order)).toBe('ships on 2030-02-01');
    expect(await store.placeOrder(order)).toBe('only 1 left');
    expect(await store.placeOrder({ ...order, petId: 'x' })).toBe('INVALID_ID');
  });

  it('places one order if its first response is lost', async () => {
    const petId = await makePet(gateway, { stock: 5 });
    let requests = 0;
    const lossy = open(`${gateway.url}/graphql`, {
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        requests += 1;
        if (requests > 1) return response;
        await response.text();
        throw new TypeError('terminated');
      },
    });
    const order = { petId, quantity: 1, shipDate: '2030-01-31T00:00:00Z' };
    expect(await lossy.placeOrder(order)).toBe('ships on 2030-01-31');
    expect(requests).toBe(2);
    expect(await stockOf(gateway, petId)).toBe(4);
  });

  it('reads two rows by one request', async () => {
    const [left, right] = [
      await makePet(gateway, { name: 'Left' }),
      await makePet(gateway, { name: 'Right' }),
    ];
    let requests = 0;
    const counted = open(`${gateway.url}/graphql`, {
      fetch: async (input, init) => {
        requests += 1;
        return fetch(input, init);
      },
    });
    expect(await counted.namesOf(left, right)).toEqual(['Left', 'Right']);
    expect(requests).toBe(1);
  });

  it('follows the changes of a row', async () => {
    const { changes } = await gateway.data('{ changes(last: 1) { pageInfo { endCursor } } }');
    const id = await makePet(gateway, { name: 'Ada' });
    const followed = store.followPets([id], changes.pageInfo.endCursor);
    expect((await followed.next()).value).toBe('CREATED: Ada');
    await store.renamePet(id, 'Zoe');
    expect((await followed.next()).value).toBe('UPDATED: Zoe');
    await gateway.data(`mutation { deletePet(id: "${id}") { __typename } }`);
    expect((await followed.next()).value).toBe('gone');
    await followed.return(undefined);
  });
});

describe.each(Object.keys(OWN_TYPES))('a type of one’s own for DateTime with %s', (name) => {
  it('is the type of results', async () => {
    expect(await compile(folderOf(name), ['check.ts'], compilerOptions)).toBe('');
  });
});

/** Removes the indentation of each line, as a part of a function is shown without it. */
const unindent = (code: string): string => code.replaceAll(/^ +/gm, '');

describe('docs/clients-types.md', () => {
  it('shows parts of the programs that ran', () => {
    const programs = [TSCONFIG, OPERATIONS, STORE, CODEGEN, TADA, GENQL_STORE].map(unindent);
    const blocks = [...GUIDE.matchAll(/^```(\w*)\n([^]*?)^```$/gm)]
      .filter(([, language]) => language !== 'sh')
      .map(([, , text = '']) => unindent(text));
    expect(blocks.length).toBeGreaterThan(5);
    expect(blocks.filter((text) => !programs.some((code) => code.includes(text)))).toEqual([]);
  });

  it('shows their commands, and how DateTime gets a type of one’s own', () => {
    for (const { command } of Object.values(SET_UPS)) {
      expect(GUIDE).toContain(`npx ${command}\n`);
    }
    for (const line of [UTC_TIME, CODEGEN_SCALARS, TADA_SCALARS]) expect(GUIDE).toContain(line);
  });
});
