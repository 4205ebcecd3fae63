import { raw } from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';

import { openCopyOnPostgres } from '../../support/databases.ts';
import { gateway, useGateway } from '../../support/gateway.ts';
import { makeOrder, makePet } from '../../support/make.ts';

const CONNECTIONS = 2;
useGateway({ POOL_SIZE: `${CONNECTIONS}` }, openCopyOnPostgres);
beforeAll(async () => {
  await makePet(gateway, { stock: 10_000 });
  await makeOrder(gateway, '1');
  // Queries are compiled, and statements prepared on each connection.
  for (let count = 0; count < 3; count += 1) await sendAll();
});

const COMPILED = '{ pets(first: 2) { nodes { id name category { name description } } } }';
const READS = [
  COMPILED,
  '{ pet(id: "1") { name status } }',
  '{ orders(filter: { petId: "1" }, orderBy: { field: SHIP_DATE }) { nodes { shipDate } } }',
  '{ categories(filter: { name: "a" }) { totalCount nodes { name } } }',
  '{ inventory { nodes { quantity pet { name } } } }',
];
const writes = (key: number): string[] =>
  [
    `createPet(input: { name: "Rex", categoryId: "1", quantity: 2 }`,
    `createPets(input: [{ name: "Ida", categoryId: "1" }]`,
    `updatePet(id: "1", input: { name: "Max" }`,
    `updateCategory(id: "1", input: { description: "All" }`,
    `adjustInventory(petId: "1", by: 1`,
    `placeOrder(input: { petId: "1", quantity: 1, shipDate: "2100-01-01T00:00:00Z" }`,
    `placeOrders(input: [{ petId: "1", quantity: 1 }]`,
    `rescheduleOrder(id: "1", shipDate: "2100-01-01T00:00:00Z"`,
  ].flatMap((call, index) =>
    [`${call})`, `${call}, idempotencyKey: "${key}-${index}")`].map(
      (field) => `mutation { ${field} { __typename ... on Error { code } } }`,
    ),
  );

let rounds = 0;
async function sendAll(): Promise<unknown[]> {
  const operations = Array.from({ length: CONNECTIONS }, () => {
    rounds += 1;
    return [...READS, ...writes(rounds)];
  });
  const responses = await Promise.all(operations.flat().map((query) => gateway.graphql(query)));
  const orders = await gateway.rest('/store/orders');
  expect(orders.status).toBe(200);
  await orders.arrayBuffer();
  return responses.flatMap(({ data, errors }) =>
    errors || JSON.stringify(data).includes('code') ? { data, errors } : [],
  );
}

async function runOnEach(statement: string): Promise<void> {
  let running = 0;
  const run = () =>
    gateway.db.transaction(async ({ write }) => {
      running += 1;
      await expect.poll(() => running).toBe(CONNECTIONS);
      await write(raw(statement));
    });
  await Promise.all(Array.from({ length: CONNECTIONS }, run));
}

it.each([
  [
    'the types of columns change',
    `do $$ begin alter table pets alter name type varchar(300);
       alter table categories alter description type text;
       alter table orders alter ship_date type timestamptz(6);
     end $$`,
  ],
  ['a column is added', 'alter table inventory_items add if not exists shelf text'],
  ['prepared statements are gone', 'deallocate all'],
])('no caller notices that %s while the gateway runs', async (_what, statement) => {
  await runOnEach(statement);
  expect(await sendAll()).toEqual([]);
  // Compiled queries are still compiled.
  gateway.statements.length = 0;
  await gateway.data(COMPILED);
  expect(gateway.statements).toHaveLength(1);
  expect(gateway.loggedErrors).toEqual([]);
});
