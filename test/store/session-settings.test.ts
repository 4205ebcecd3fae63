import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, expect, it } from 'vitest';

import { makeProgramStore, type ProgramStore } from '../support/databases.ts';
import { post } from '../support/post.ts';
import { killPrograms, type Program, startProgram } from '../support/program.ts';

// Everything that a role or a database may set and that could make an answer or a write wrong, with
// some that must not. What a superuser alone may set is among them.
const HOSTILE: Readonly<Record<string, string>> = {
  DateStyle: 'SQL, DMY',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Asia/Tokyo',
  array_nulls: 'off',
  backslash_quote: 'off',
  bytea_output: 'escape',
  default_transaction_isolation: 'repeatable read',
  enable_seqscan: 'off',
  extra_float_digits: '-15',
  gin_fuzzy_search_limit: '1',
  lock_timeout: '1ms',
  plan_cache_mode: 'force_custom_plan',
  quote_all_identifiers: 'on',
  session_replication_role: 'replica',
  standard_conforming_strings: 'off',
  transform_null_equals: 'on',
  xmlbinary: 'hex',
};
// PGlite doesn't start with these.
const HOSTILE_ON_SERVERS = { client_encoding: 'LATIN1', idle_session_timeout: '1s' };

/** Sets them for a database, or in the file of an embedded one, which knows no ALTER DATABASE. */
async function makeHostile(store: ProgramStore): Promise<void> {
  const { DATABASE_URL: url, DATA_DIR: folder } = store.environment;
  if (url) {
    const name = new URL(url).pathname.slice(1);
    const settings = Object.entries({ ...HOSTILE, ...HOSTILE_ON_SERVERS });
    await store.run(
      settings.map(([key, to]) => `alter database ${name} set ${key} = '${to}'`).join(';'),
    );
    return;
  }
  await store.run('select');
  const lines = Object.entries(HOSTILE).map(([key, to]) => `${key} = '${to}'\n`);
  await appendFile(join(folder ?? '', 'pglite', 'postgresql.conf'), lines.join(''));
}

const ORDER = 'id petId quantity shipDate complete';
const ERROR = '... on Error { code status message }';
const place = (shipDate: string, key: string): string =>
  `mutation { placeOrder(input: { petId: "1", quantity: 2, shipDate: "${shipDate}" },
    idempotencyKey: "${key}") { ... on Order { ${ORDER} } ${ERROR} } }`;

const OPERATIONS = [
  'mutation { createCategory(input: { name: "É\\\\\'" }) { ... on Category { id name } } }',
  ...Array.from(
    { length: 30 },
    (_, index) => `mutation { createPet(input: { name: "Zoë \\\\${index}", categoryId: "1" },
      idempotencyKey: "pet ${index}") { ... on Pet { id name petStatus: status } } }`,
  ),
  'mutation { updateInventory(petId: "1", input: { quantity: 100 }) { ... on InventoryItem { quantity } } }',
  place('2026-12-03T09:00:00Z', 'a'),
  place('2026-12-03T09:00:00Z', 'a'),
  place('2026-03-12T23:59:59.5Z', 'b'),
  place('0099-02-01T00:00:00Z', 'c'),
  `{ pets(first: 100, filter: { name: "zoë" }) { totalCount nodes { id name } } }`,
  `{ orders(orderBy: { field: SHIP_DATE, direction: ASC }) { edges { cursor node { ${ORDER} } } } }`,
  'mutation { deletePet(id: "1") { ... on Pet { id } ... on Error { code } } }',
  'mutation { deleteCategory(id: "1") { ... on Category { id } ... on Error { code } } }',
  'mutation { createPet(input: { name: "X", categoryId: "99" }) { ... on Pet { id } ... on Error { code } } }',
  `mutation { rescheduleOrder(id: "1", shipDate: "2027-02-01T00:00:00Z") { ... on Order { ${ORDER} } } }`,
  `mutation { completeOrder(id: "1") { ... on Order { ${ORDER} } } }`,
  `mutation { cancelOrder(id: "2") { ... on Order { ${ORDER} } } }`,
  `mutation { deletePet(id: "30") { ... on Pet { id name } } }`,
  '{ inventory { nodes { pet { id } quantity } } orders { totalCount } categories { totalCount } }',
];
const PATHS = ['/store/orders', '/store/orders?limit=1', '/pets/1', '/pets/30', '/ready'];

async function ask(program: Program, query: string): Promise<Record<string, unknown>> {
  const response = await post(program, { query });
  return (await response.json()) as Record<string, unknown>;
}

/** Does everything a caller can, and gives what came back. */
async function exercise(program: Program): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const query of OPERATIONS) answers.push(await ask(program, query));
  const cursors = (answers.find((answer) => JSON.stringify(answer).includes('cursor')) ?? {}) as {
    data: { orders: { edges: { cursor: string }[] } };
  };
  for (const { cursor } of cursors.data.orders.edges) {
    answers.push(
      await ask(
        program,
        `{ orders(after: "${cursor}", orderBy: { field: SHIP_DATE, direction: ASC }) { nodes { ${ORDER} } } }`,
      ),
    );
  }
  const together = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      ask(
        program,
        `mutation { placeOrder(input: { petId: "1", quantity: 1 }, idempotencyKey: "key ${index % 4}") {
          __typename ... on Order { quantity } } }`,
      ),
    ),
  );
  answers.push(together, await ask(program, '{ inventoryItem(petId: "1") { quantity } }'));
  for (const path of PATHS) {
    const response = await fetch(program.url + path);
    answers.push([path, response.status, response.headers.get('link'), await response.text()]);
  }
  return answers;
}

afterAll(killPrograms);

it('a database with hostile settings of its own gives the answers of a plain one', async () => {
  const stores = await Promise.all([makeProgramStore(), makeProgramStore()]);
  const [plain, hostile] = stores;
  await makeHostile(hostile);
  const answers = [];
  for (const { environment } of [plain, hostile]) {
    const program = await startProgram({ ...environment, SAMPLE_STORE: 'false' });
    answers.push(await exercise(program));
    await program.stop();
  }
  expect(answers[1]).toEqual(answers[0]);
  // What both answer is what they were asked, and no error of both.
  expect(JSON.stringify(answers[0])).toContain('2026-12-03T09:00:00.000Z');
  expect(JSON.stringify(answers[0])).not.toContain('"errors"');
  await Promise.all(stores.map((store) => store.remove()));
}, 120_000);
