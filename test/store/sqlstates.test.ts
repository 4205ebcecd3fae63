import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openCopy } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { makeCategory, makePet } from '../support/make.ts';

let gateway: Gateway;
let petId: string;
let categoryId: string;
beforeAll(async () => {
  gateway = await startGateway({}, openCopy);
  categoryId = await makeCategory(gateway);
  petId = await makePet(gateway, { categoryId, stock: 1000 });
  // Writes fail with the SQLSTATE that the comment of a table says.
  await gateway.db.query({
    text: `create function fail() returns trigger language plpgsql as $$
      declare state text := obj_description('categories'::regclass);
      begin
        if state is not null then raise exception 'fails on purpose' using errcode = state; end if;
        return coalesce(new, old);
      end $$`,
    values: [],
  } as never);
  for (const table of ['categories', 'pets', 'inventory_items', 'orders']) {
    await gateway.db.prisma.$executeRawUnsafe(
      `create trigger fail before insert or update or delete on ${table}
       for each row execute function fail()`,
    );
  }
});
afterAll(async () => {
  gateway.loggedErrors.length = 0;
  await gateway.close();
});

const failWith = (state: string): Promise<unknown> =>
  gateway.db.prisma.$executeRawUnsafe(`comment on table categories is '${state}'`);

/** Writes by every way to the database: Prisma's API and SQL, each alone and in a transaction. */
async function write(): Promise<unknown[]> {
  const key = `idempotencyKey: "a key"`;
  const answers = await Promise.all(
    [
      'createCategory(input: { name: "Owls" }) { __typename }',
      `createCategory(input: { name: "Owls" }, ${key}) { __typename }`,
      `updatePet(id: "${petId}", input: { name: "Ida" }) { __typename }`,
      `deleteCategory(id: "${categoryId}") { __typename }`,
      `updateInventory(petId: "${petId}", input: { quantity: 9 }) { __typename }`,
      `placeOrder(input: { petId: "${petId}", quantity: 1 }) { __typename }`,
      `placeOrder(input: { petId: "${petId}", quantity: 1 }, ${key}) { __typename }`,
    ].map((field) => gateway.graphql(`mutation { ${field} }`)),
  );
  return answers.map(({ data, errors }) => errors?.[0]?.extensions.code ?? data);
}

describe('a write that the database answers with an error', () => {
  it.each([
    ['08006', 'a connection that failed'],
    ['25006', 'a database that takes no writes'],
    ['25P03', 'a transaction that was idle too long'],
    ['25P04', 'a transaction that took too long'],
    ['28000', 'a role that may not log in'],
    ['3D000', 'a database that is gone'],
    ['40001', 'a conflict that no retry solved'],
    ['40P01', 'a deadlock that no retry solved'],
    ['53100', 'a full disk'],
    ['53200', 'no memory'],
    ['53300', 'too many connections'],
    ['53400', 'a limit of the server'],
    ['55P03', 'a lock that was not to be had'],
    ['57014', 'a statement that was cancelled'],
    ['57P01', 'a server that shuts down'],
    ['57P05', 'a session that was idle too long'],
    ['58030', 'an error of the disk'],
    ['58P01', 'a file that is missing'],
    ['XX001', 'damaged data'],
    ['XX002', 'a damaged index'],
  ])('is SERVICE_UNAVAILABLE for %s, %s', async (state) => {
    await failWith(state);
    expect(await write()).toEqual(Array.from({ length: 7 }, () => 'SERVICE_UNAVAILABLE'));
  });

  it.each([
    ['42703', 'a column that is not there'],
    ['42501', 'a privilege that is missing'],
    ['XX000', 'a bug of the database'],
    ['P0001', 'a rule of a trigger'],
  ])('is INTERNAL_SERVER_ERROR for %s, %s', async (state) => {
    await failWith(state);
    expect(await write()).toEqual(Array.from({ length: 7 }, () => 'INTERNAL_SERVER_ERROR'));
  });
});
