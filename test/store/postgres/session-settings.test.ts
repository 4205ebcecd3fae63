import sql from 'sql-template-tag';
import { expect, it } from 'vitest';

import { copyOnPostgres, openCopyOnPostgres } from '../../support/databases.ts';
import { type Gateway, openAt, type OpenDatabase, startGateway } from '../../support/gateway.ts';
import { post } from '../../support/post.ts';
import { runSql } from '../../support/postgres.ts';

// Settings of a role or a database that could make a response or a write wrong.
const HOSTILE: Readonly<Record<string, string>> = {
  DateStyle: 'SQL, DMY',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Asia/Tokyo',
  array_nulls: 'off',
  backslash_quote: 'off',
  bytea_output: 'escape',
  client_encoding: 'LATIN1',
  default_transaction_isolation: 'repeatable read',
  enable_seqscan: 'off',
  extra_float_digits: '-15',
  gin_fuzzy_search_limit: '1',
  idle_session_timeout: '1s',
  lock_timeout: '1ms',
  plan_cache_mode: 'force_custom_plan',
  quote_all_identifiers: 'on',
  session_replication_role: 'replica',
  standard_conforming_strings: 'off',
  transform_null_equals: 'on',
  xmlbinary: 'hex',
};
async function createHostile(): Promise<OpenDatabase> {
  const { url, drop } = await copyOnPostgres();
  const name = new URL(url).pathname.slice(1);
  await runSql(
    url,
    Object.entries(HOSTILE)
      .map(([key, to]) => `alter database ${name} set ${key} = '${to}'`)
      .join(';'),
  );
  return async (config, log) => {
    const db = await openAt(url)(config, log);
    const close = async (): Promise<void> => {
      await db.close();
      await drop();
    };
    return { ...db, close };
  };
}

const ORDER = 'id petId quantity shipDate complete';
const ERROR = '... on Error { code httpStatus message }';
const place = (shipDate: string, key: string): string =>
  `mutation { placeOrder(input: { petId: "1", quantity: 2, shipDate: "${shipDate}" },
    idempotencyKey: "${key}") { ... on Order { ${ORDER} } ${ERROR} } }`;

const FIRST_OPERATIONS = [
  'mutation { createCategory(input: { name: "É\\\\\'" }) { ... on Category { id name } } }',
  ...['first', 'second'].map(
    (key) => `mutation { createPet(input: { name: "Zoë \\\\1", categoryId: "1" },
      idempotencyKey: "${key}") { ... on Pet { id name petStatus: status } } }`,
  ),
  'mutation { updateInventory(petId: "1", input: { quantity: 100 }) { ... on InventoryItem { quantity } } }',
  place('2100-12-03T09:00:00Z', 'a'),
  place('2100-12-03T09:00:00Z', 'a'),
  place('2100-03-12T23:59:59.5Z', 'b'),
];
// Callers can't place an order with such an old ship date.
const PAST_ORDER = sql`
  insert into orders (pet_id, quantity, ship_date) values (1, 2, '0099-02-01T00:00:00Z')`;
const LATER_OPERATIONS = [
  `{ pets(first: 100, filter: { name: "zoë" }) { totalCount nodes { id name } } }`,
  `{ orders(orderBy: { field: SHIP_DATE, direction: ASC }) { edges { cursor node { ${ORDER} } } } }`,
  'mutation { deletePet(id: "1") { ... on DeletedPet { id } ... on Error { code } } }',
  'mutation { deleteCategory(id: "1") { ... on DeletedCategory { id } ... on Error { code } } }',
  'mutation { createPet(input: { name: "X", categoryId: "99" }) { ... on Pet { id } ... on Error { code } } }',
  `mutation { rescheduleOrder(id: "1", shipDate: "2100-02-01T00:00:00Z") { ... on Order { ${ORDER} } } }`,
  `mutation { completeOrder(id: "1") { ... on Order { ${ORDER} } } }`,
  'mutation { cancelOrder(id: "2") { ... on CancelledOrder { id inventory { quantity } } } }',
  'mutation { deletePet(id: "2") { ... on DeletedPet { id nodeId } } }',
  '{ inventory { nodes { pet { id } quantity } } orders { totalCount } categories { totalCount } }',
];
const PATHS = ['/store/orders', '/store/orders?limit=1', '/pets/1', '/ready'];

async function ask(gateway: Gateway, query: string): Promise<Record<string, unknown>> {
  const response = await post(gateway, { query });
  return (await response.json()) as Record<string, unknown>;
}

async function exercise(gateway: Gateway): Promise<unknown[]> {
  const all: unknown[] = [];
  for (const query of FIRST_OPERATIONS) all.push(await ask(gateway, query));
  await gateway.db.write(PAST_ORDER);
  for (const query of LATER_OPERATIONS) all.push(await ask(gateway, query));
  const together = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      ask(
        gateway,
        `mutation { placeOrder(input: { petId: "1", quantity: 1 }, idempotencyKey: "key ${index % 4}") {
          __typename ... on Order { quantity } } }`,
      ),
    ),
  );
  all.push(together, await ask(gateway, '{ inventoryItem(petId: "1") { quantity } }'));
  for (const path of PATHS) {
    const response = await fetch(gateway.url + path);
    all.push([path, response.status, response.headers.get('link'), await response.text()]);
  }
  return all;
}

async function responsesOn(open: OpenDatabase): Promise<unknown[]> {
  const gateway = await startGateway({}, open);
  const responses = await exercise(gateway);
  await gateway.close();
  return responses;
}

it('a gateway on a database with hostile settings returns the same responses as on a database without them', async () => {
  const expected = await responsesOn(openCopyOnPostgres);
  expect(await responsesOn(await createHostile())).toEqual(expected);
  // The operations succeeded on both.
  expect(JSON.stringify(expected)).toContain('2100-12-03T09:00:00.000Z');
  expect(JSON.stringify(expected)).not.toContain('"errors"');
});
