import { existsSync, readFileSync, writeFileSync } from 'node:fs';

import { beforeAll, describe, expect, it } from 'vitest';

import { useProgram, useProgramStore } from '../support/databases.ts';
import type { GraphqlResponse } from '../support/gateway.ts';
import { post } from '../support/post.ts';
import { runSql } from '../support/postgres.ts';
import { type Program } from '../support/program.ts';
import { repeat } from '../support/repeat.ts';
import { rounds } from '../support/rounds.ts';

// From its third execution, a query may be compiled.
const EXECUTIONS = rounds(5, 15);
const PETS = 100;

const aliases = (count: number, field: string): string =>
  repeat(count, (index) => `a${index}: ${field}`);
const ofPets = (fields: string): string =>
  `query ($id: ID!) { pets(first: ${PETS}, filter: { categoryId: $id }) { nodes { ${fields} } } }`;

// The estimated sizes of the compiled queries' results are just below the limit for one statement.
const QUERIES = [
  // Four responses: one that is too large to be sent, the largest that is sent, the largest that PostgreSQL writes as
  // JSON, and the largest that PGlite writes as JSON.
  ...[95, 7, 3, 1].map(
    (count) =>
      [
        `${count} copies of a string that many rows share`,
        ofPets(`category { ${aliases(count, 'description')} }`),
      ] as const,
  ),
  ['many strings of each row', ofPets(aliases(25, 'name'))],
  [
    'many strings of one row',
    `query ($id: ID!) { category(id: $id) { ${aliases(95, 'description')} } }`,
  ],
  [
    'cursors with long strings',
    `{ pets(last: ${PETS}, orderBy: { field: NAME, direction: DESC }) { edges { ${aliases(18, 'cursor')} } } }`,
  ],
  [
    'changes with long strings',
    `{ changes(last: ${PETS}) { nodes { ... on PetChange { after { ${aliases(50, 'name')} } } } } }`,
  ],
] as const;

async function ask(program: Program, query: string, variables = {}): Promise<void> {
  const response = await post(program, { query, variables });
  const { errors = [] } = (await response.json()) as Partial<GraphqlResponse>;
  expect(errors.filter(({ extensions }) => extensions.code !== 'RESPONSE_TOO_LARGE')).toEqual([]);
}

/** Creates a category of pets with strings of maximum length; returns its id. */
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

function readMb(pid: number, value: 'VmRSS' | 'VmHWM'): number {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return 0;
  // The file of a process that has ended contains no sizes until its parent has noticed.
  const status = readFileSync(file, 'utf8');
  return Number(new RegExp(`^${value}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1000;
}

/** Runs the steps; returns the largest growth, in MB, of the memory of a process or of one that replaces it. */
async function growthOf(
  findPid: () => Promise<number>,
  steps: readonly (() => Promise<void>)[],
): Promise<number> {
  const first = await findPid();
  // Resets the peak (VmHWM), so that Linux measures it from here.
  writeFileSync(`/proc/${first}/clear_refs`, '5');
  const before = readMb(first, 'VmRSS');
  let peak = before;
  for (const step of steps) {
    await step();
    peak = Math.max(peak, readMb(await findPid(), 'VmHWM'));
  }
  return peak - before;
}

async function pidOfBackend(url: string): Promise<number> {
  const [row] = await runSql(
    url,
    `select pid from pg_stat_activity where application_name = 'pet-store-gateway'
     and datname = current_database() and query !~ '^LISTEN' order by query_start desc limit 1`,
  );
  return Number(row?.['pid']);
}

describe.skipIf(process.platform !== 'linux').each([
  ['PGlite', 'the gateway', 100],
  ['PostgreSQL', 'the server process of a connection', 64],
] as const)('on %s, %s', (database, _process, maxMb) => {
  const store = useProgramStore(database);
  const program = useProgram(store, { POOL_SIZE: '1' });
  let categories: string[];

  const findPid = async (): Promise<number> =>
    database === 'PGlite' ? (program.process.pid ?? 0) : pidOfBackend(store.url);

  beforeAll(async () => {
    for (let time = 1; time <= 5; time += 1)
      await ask(program, '{ pets(first: 100) { nodes { name } } }');
    categories = [await fill(program, 'x'), await fill(program, '\u0001')];
  });

  it.each(QUERIES)(
    `grows by less than ${maxMb} MB while a query for %s is repeated`,
    async (_what, query) => {
      const steps = categories.flatMap((id) =>
        Array.from({ length: EXECUTIONS }, () => () => ask(program, query, { id })),
      );
      const growth = await growthOf(findPid, steps);
      expect(growth).toBeLessThan(maxMb);
    },
  );

  it(`grows by less than ${maxMb} MB while a long query is sent with many different page sizes`, async () => {
    const query = `query ($first: Int, $last: Int) {
      pets(first: $first) { nodes { ${repeat(5, (index) => `c${index}: category { ...Texts }`)} } }
      categories(last: $last) { nodes { ...Texts } }
    }
    fragment Texts on Category { ${aliases(30, 'id')} }`;
    const steps = Array.from(
      { length: 100 },
      (_none, index) => () =>
        ask(program, query, { first: index % 10, last: Math.floor(index / 10) }),
    );
    // If the connection is being replaced, this query waits until the new one has a process.
    await ask(program, query, {});
    const growth = await growthOf(findPid, steps);
    expect(growth).toBeLessThan(maxMb);
  });
});
