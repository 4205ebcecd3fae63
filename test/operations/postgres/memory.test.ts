import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { makeProgramStoreOnPostgres, type ProgramStore } from '../../support/databases.ts';
import { expectFewKept, LITTLE_MEMORY, oldBytes, usedMb } from '../../support/memory.ts';
import { post } from '../../support/post.ts';
import { killPrograms, type Program, startProgram } from '../../support/program.ts';

let store: ProgramStore;
beforeAll(async () => {
  store = await makeProgramStoreOnPostgres();
});
afterAll(async () => {
  await killPrograms();
  await store.remove();
});

// test/long/hostile-load.test.ts measures the memory after other hostile requests too.
describe('a gateway with little memory', () => {
  it('keeps few of many long documents', async () => {
    const program = await startProgram({ ...store.environment, ...LITTLE_MEMORY });
    await expectFewKept(program);
    expect(await program.stop()).toBe(0);
  });
});

const REQUESTS = {
  'a query that is compiled': '{ pets { nodes { name category { name } } } }',
  'a query that is not compiled': '{ node(nodeId: "Pet_1") { nodeId } }',
  'a mutation': 'mutation { adjustInventory(petId: 1, by: 1) { __typename } }',
  'a mutation with an error':
    'mutation { placeOrder(input: { petId: 99, quantity: 1 }) { __typename } }',
} as const;

const CONNECTIONS = 20;
const REQUESTS_EACH = 15;

describe('a gateway', () => {
  let program: Program;
  beforeAll(async () => {
    program = await startProgram({ ...store.environment, ...LITTLE_MEMORY });
  });

  /** Returns how many bytes each of many requests leaves for a major garbage collection. */
  async function leftBytes(send: () => Promise<Response>): Promise<number> {
    const before = await oldBytes(program);
    const sendSome = async (): Promise<void> => {
      for (let count = 0; count < REQUESTS_EACH; count += 1) await (await send()).arrayBuffer();
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, sendSome));
    return ((await oldBytes(program)) - before) / (CONNECTIONS * REQUESTS_EACH);
  }

  /** At first also code and caches grow. A request with its response has 6 kB or more. */
  const leastLeftBytes = async (send: () => Promise<Response>): Promise<number> =>
    Math.min(await leftBytes(send), await leftBytes(send), await leftBytes(send));

  it.each([
    ...Object.entries(REQUESTS).map(
      ([name, query]) => [name, () => post(program, { query })] as const,
    ),
    ['a GET', () => fetch(`${program.url}/graphql?query={__typename}`)] as const,
    ['a request to REST', () => fetch(`${program.url}/pets/1`)] as const,
  ])('forgets %s as soon as it has its response', async (_name, send) => {
    expect(await leastLeftBytes(send)).toBeLessThan(3000);
  });

  it('forgets an invalid query at the next major collection', async () => {
    // It is parsed each time, and Envelop keeps the document in a WeakMap.
    expect(await leastLeftBytes(() => post(program, { query: '{ petz }' }))).toBeLessThan(20_000);
    const before = await usedMb(program);
    await leastLeftBytes(() => post(program, { query: '{ petz }' }));
    expect(await usedMb(program)).toBeLessThan(before + 1);
  });
});
