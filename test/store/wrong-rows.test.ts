import { getNamedType, isLeafType, isObjectType } from 'graphql';
import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import { type Data, gateway, run, useGateway } from '../support/gateway.ts';
import { type LiveResult, openEvents, untilNoStreams } from '../support/live.ts';
import { makeCategory, makeOrder, makePet, mutate } from '../support/make.ts';
import { TIMES_UNTIL_COMPILED } from '../support/post.ts';
import { requestRaw } from '../support/raw.ts';
import { expectError } from '../support/rest.ts';
import { lastCursor, untilSettled } from '../support/settled.ts';

function selectionOf(type: string): string {
  const found = petStore.schema.getType(type);
  const fields = isObjectType(found) ? Object.values(found.getFields()) : [];
  return fields
    .filter(({ args }) => args.length === 0)
    .map(({ name, type: of }) => (isLeafType(getNamedType(of)) ? name : `${name} { __typename }`))
    .join(' ');
}

const CHANGE = `__typename kind ${Array.from(
  petStore.repositories.keys(),
  (type) =>
    `... on ${type}Change { before { ${selectionOf(type)} } after { ${selectionOf(type)} } }`,
).join(' ')}`;

/** Returns the changes after a cursor and their errors' codes: as a page of the log, and from a subscription. */
async function readChanges(after: string): Promise<[Data[], string[]][]> {
  await untilSettled(gateway.db);
  const { data, errors = [] } = await gateway.graphql(
    `query ($after: String) { changes(after: $after, first: 100) { nodes { ${CHANGE} } } }`,
    { after },
  );
  const { nodes } = data.changes;
  const events = await openEvents(
    gateway,
    `subscription ($after: String) { changed(after: $after) { ${CHANGE} } }`,
    { variables: { after } },
  );
  const results: (LiveResult | undefined)[] = [];
  while (results.length < nodes.length) results.push(await events.result());
  events.disconnect();
  await untilNoStreams(gateway);
  return [
    [nodes, errors.map(({ extensions: { code } }) => code)],
    [
      results.map((result) => result?.data.changed),
      results.flatMap((result) => result?.errors ?? []).map(({ extensions: { code } }) => code),
    ],
  ];
}

useGateway();

describe('the change log', () => {
  it('contains each row, although all rows that it refers to are gone', async () => {
    await makeCategory(gateway);
    const after = await lastCursor(gateway);
    const categoryId = await makeCategory(gateway, 'Gone');
    const petId = await makePet(gateway, { categoryId, stock: 5 });
    const orderId = await makeOrder(gateway, petId, { quantity: 2 });
    await mutate(gateway, 'cancelOrder', { id: orderId });
    await mutate(gateway, 'deletePet', { id: petId });
    await mutate(gateway, 'deleteCategory', { id: categoryId });
    for (const [changes, codes] of await readChanges(after)) {
      expect(changes.length).toBeGreaterThan(7);
      for (const { kind, before, after: now } of changes) {
        const expected = [kind, kind !== 'CREATED', kind !== 'DELETED'];
        expect([kind, before !== null, now !== null]).toEqual(expected);
      }
      expect(changes).toContainEqual(
        expect.objectContaining({
          kind: 'CREATED',
          after: expect.objectContaining({ id: orderId, quantity: 2, pet: null }),
        }),
      );
      expect(new Set(codes)).toEqual(new Set(['PET_NOT_FOUND', 'CATEGORY_NOT_FOUND']));
    }
  });

  it('contains the other values of a row with a null that its table should not allow', async () => {
    const petId = await makePet(gateway, { name: 'Nameless' });
    const after = await lastCursor(gateway);
    await run('alter table pets alter name drop not null');
    await run(`update pets set name = null where id = ${petId}`);
    for (const [changes, codes] of await readChanges(after)) {
      expect(changes).toMatchObject([
        {
          before: { id: petId, name: 'Nameless' },
          after: { id: petId, name: null, status: 'AVAILABLE' },
        },
      ]);
      expect(codes).toEqual(['INTERNAL_SERVER_ERROR']);
    }
    await run(`update pets set name = 'Named' where id = ${petId}`);
    await run('alter table pets alter name set not null');
    gateway.loggedErrors.length = 0;
  });
});

it('a value of an enum that only a later release knows fails alone in the change log and in the result of a mutation, and as a required value elsewhere', async () => {
  const petId = await makePet(gateway, { name: 'Lost' });
  const after = await lastCursor(gateway);
  await run(`alter type pet_status add value 'lost'`);
  await run(`update pets set status = 'lost' where id = ${petId}`);
  for (const [changes, codes] of await readChanges(after)) {
    expect(changes).toMatchObject([
      { before: { status: 'AVAILABLE' }, after: { id: petId, name: 'Lost', status: null } },
    ]);
    expect(codes).toEqual(['INTERNAL_SERVER_ERROR']);
  }

  const updated = await gateway.graphql(
    'mutation ($id: ID!) { updatePet(id: $id, input: { name: "Found" }) { ... on Pet { id name status } } }',
    { id: petId },
  );
  expect(updated).toMatchObject({
    data: { updatePet: { id: petId, name: 'Found', status: null } },
    errors: [{ path: ['updatePet', 'status'], extensions: { code: 'INTERNAL_SERVER_ERROR' } }],
  });

  for (const query of [
    '{ pets(first: 100) { nodes { id status } } }',
    `{ pet(id: "${petId}") { status } }`,
  ]) {
    const first = await gateway.graphql(query);
    expect(first.errors).toMatchObject([{ extensions: { code: 'INTERNAL_SERVER_ERROR' } }]);
    for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
      expect(await gateway.graphql(query)).toEqual(first);
    }
  }

  const response = await requestRaw(gateway, 'GET', `/pets/${petId}`);
  expectError(response, 500, 'INTERNAL_SERVER_ERROR');
  await gateway.db.write(sql`delete from pets where id = ${petId}::bigint`);
  gateway.loggedErrors.length = 0;
});
