import { readFileSync, writeFileSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  makeProgramStore,
  makeProgramStoreOnPostgres,
  type ProgramStore,
} from '../support/databases.ts';
import type { GraphqlAnswer } from '../support/gateway.ts';
import { post } from '../support/post.ts';
import { runSql } from '../support/postgres.ts';
import { killPrograms, type Program, startProgram } from '../support/program.ts';
import { repeat } from '../support/repeat.ts';
import { rounds } from '../support/rounds.ts';

// From its third execution, a query may be compiled.
const EXECUTIONS = rounds(5, 100);
const PETS = 100;

const aliases = (count: number, field: string): string =>
  repeat(count, (index) => `a${index}: ${field}`);
const ofPets = (fields: string): string =>
  `query ($id: ID!) { pets(first: ${PETS}, filter: { categoryId: $id }) { nodes { ${fields} } } }`;

// The estimates of the compiled ones are just within what a statement may write.
const QUERIES = [
  [
    'a text that many rows share, too often to send',
    ofPets(`category { ${aliases(95, 'description')} }`),
  ],
  [
    'a text that many rows share, as often as it is sent',
    ofPets(`category { ${aliases(7, 'description')} }`),
  ],
  [
    'a text that many rows share, as often as PostgreSQL writes it',
    ofPets(`category { ${aliases(3, 'description')} }`),
  ],
  ['a text that many rows share, as often as PGlite writes it', ofPets('category { description }')],
  ['many texts of each row', ofPets(aliases(25, 'name'))],
  [
    'many texts of one row',
    `query ($id: ID!) { category(id: $id) { ${aliases(95, 'description')} } }`,
  ],
  [
    'cursors with texts',
    `{ pets(last: ${PETS}, orderBy: { field: NAME, direction: DESC }) { edges { ${aliases(18, 'cursor')} } } }`,
  ],
  [
    'changes with texts',
    `{ changes(last: ${PETS}) { nodes { ... on PetChange { after { ${aliases(50, 'name')} } } } } }`,
  ],
] as const;

/** Posts an operation; the response may be an error about its size. */
async function ask(program: Program, query: string, variables = {}): Promise<void> {
  const response = await post(program, { query, variables });
  const { errors = [] } = (await response.json()) as Partial<GraphqlAnswer>;
  expect(errors.filter(({ extensions }) => extensions.code !== 'ANSWER_TOO_LARGE')).toEqual([]);
}

/** Creates a category of pets whose texts are as long as they may be; returns its id. */
async function fill(program: Program, character: string): Promise<string> {
  const create = `mutation ($name: String!, $description: String) {
    createCategory(input: { name: $name, description: $description }) { ... on Category { id } } }`;
  const name = character.repeat(255);
  const texts = { name, description: character.repeat(2000) };
  const response = await post(program, { query: create, variables: texts });
  const { data } = (await response.json()) as { data: { createCategory: { id: string } } };
  const { id } = data.createCategory;
  const pet = 'createPet(input: { name: $name, categoryId: $id }) { __typename }';
  const createPets = `mutation ($name: String!, $id: ID!) { ${aliases(PETS / 2, pet)} }`;
  for (let time = 1; time <= 2; time += 1) await ask(program, createPets, { name, id });
  return id;
}

/** Returns by how much the memory of a process grows at most while something is done, in MB. */
async function growthOf(pid: number | undefined, work: () => Promise<void>): Promise<number> {
  const read = (value: 'VmRSS' | 'VmHWM'): number => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(new RegExp(`^${value}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1000;
  };
  // Linux then measures the peak (VmHWM) from here.
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const before = read('VmRSS');
  await work();
  return read('VmHWM') - before;
}

async function pidOfBackend({ DATABASE_URL = '' }: ProgramStore['environment']): Promise<number> {
  const [row] = await runSql(
    DATABASE_URL,
    `select pid from pg_stat_activity where application_name = 'pet-store-gateway'
     and datname = current_database() and query !~ '^LISTEN' order by query_start desc limit 1`,
  );
  return Number(row?.['pid']);
}

describe.skipIf(process.platform !== 'linux').each([
  ['PGlite', 'the gateway', 100, makeProgramStore],
  ['PostgreSQL', 'a process of PostgreSQL', 64, makeProgramStoreOnPostgres],
] as const)('on %s, %s', (database, _process, maxMb, makeStore) => {
  let store: ProgramStore;
  let program: Program;
  let pid: number | undefined;
  let categories: string[];
  beforeAll(async () => {
    store = await makeStore();
    program = await startProgram({ ...store.environment, POOL_SIZE: '1' });
    for (let time = 1; time <= 5; time += 1)
      await ask(program, '{ pets(first: 100) { nodes { name } } }');
    pid = database === 'PGlite' ? program.process.pid : await pidOfBackend(store.environment);
    categories = [await fill(program, 'x'), await fill(program, '\u0001')];
  });
  afterAll(async () => {
    await killPrograms();
    await store.remove();
  });

  it.each(QUERIES)(`grows by less than ${maxMb} MB for %s`, async (_what, query) => {
    const growth = await growthOf(pid, async () => {
      for (const id of categories) {
        for (let time = 1; time <= EXECUTIONS; time += 1) await ask(program, query, { id });
      }
    });
    expect(growth).toBeLessThan(maxMb);
  });

  it(`grows by less than ${maxMb} MB for many page sizes of a long query`, async () => {
    const query = `query ($first: Int, $last: Int) {
      pets(first: $first) { nodes { ${repeat(5, (index) => `c${index}: category { ...Texts }`)} } }
      categories(last: $last) { nodes { ...Texts } }
    }
    fragment Texts on Category { ${aliases(30, 'id')} }`;
    const growth = await growthOf(pid, async () => {
      for (let index = 0; index < 100; index += 1) {
        await ask(program, query, { first: index % 10, last: Math.floor(index / 10) });
      }
    });
    expect(growth).toBeLessThan(maxMb);
  });
});
