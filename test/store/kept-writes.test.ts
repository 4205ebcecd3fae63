import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';

import { gateway, type OpenDatabase, postOperation, useGateway } from '../support/gateway.ts';
import { makePet } from '../support/make.ts';
import { createOutage } from '../support/outage.ts';

const outage = createOutage();

/** Opens a database with what the gateway takes for a replica. */
const open: OpenDatabase = async (config, log) => {
  const db = await outage.open(config, log);
  return { ...db, queryOlder: db.query };
};

const placeWith = (fields: string): string =>
  `mutation ($petId: ID!, $n: Int, $yes: Boolean = false) {
    placeOrder(input: { petId: $petId, quantity: 1 }) { ... on Order { id quantity @skip(if: $yes) pet { ...F } } }
  } fragment F on Pet { id unread: orders(first: $n) @skip(if: true) { totalCount } ${fields} }`;

let petId: string;
useGateway({}, open);
beforeAll(async () => {
  petId = await makePet(gateway, { stock: 1000 });
});

describe('a mutation whose write has succeeded', () => {
  it('keeps its result even if a later mutation in the same request fails', async () => {
    const mutation = `mutation ($petId: ID!) {
        a: placeOrder(input: { petId: $petId, quantity: 1 }) { ... on Order { id } }
        b: adjustInventory(petId: $petId, by: 1) { ... on InventoryItem { quantity } }
      }`;
    let statements = 0;
    const { data, errors, headers } = await outage.during(
      () => postOperation(gateway, { query: mutation, variables: { petId } }),
      () => (statements += 1) > 1,
    );
    // The operation must not be repeated as a whole.
    expect(headers.get('retry-after')).toBeNull();
    expect(data).toEqual({ a: { id: expect.any(String) }, b: null });
    expect(errors).toMatchObject([{ path: ['b'], extensions: { code: 'SERVICE_UNAVAILABLE' } }]);
    gateway.loggedErrors.length = 0;
  });
});

describe.each(['HALT', 'PROPAGATE'])('with onError %s, a mutation without data', (onError) => {
  const place = async (fails: (isRead: boolean) => boolean) => {
    const query = placeWith('category { name }');
    const { data, errors, headers } = await outage.during(
      () => postOperation(gateway, { query, variables: { petId }, onError }),
      fails,
    );
    expect([data, errors?.[0]?.extensions.code]).toEqual([null, 'SERVICE_UNAVAILABLE']);
    gateway.loggedErrors.length = 0;
    return ['retry-after', 'store-position'].map((name) => headers.get(name));
  };

  it('has the headers of a write if it has written', async () => {
    expect(await place((isRead) => isRead)).toEqual([null, expect.stringMatching(/^[\da-f]{16}$/)]);
  });

  it('can be repeated if it has not written', async () => {
    expect(await place(() => true)).toEqual(['1', null]);
  });
});

describe('an error that can be found before execution', () => {
  it.each<[string, string, string, object?]>([
    [
      'a nested page that is too large',
      placeWith('category { pets(first: 1) { nodes { orders(first: $n) { nodes { id } } } } }'),
      'INVALID_INPUT',
      { n: 1000 },
    ],
    [
      'a cursor from another sort order',
      placeWith('orders(after: "WyJJRCIsIjEiXQ", orderBy: { field: SHIP_DATE }) { nodes { id } }'),
      'INVALID_CURSOR',
    ],
    [
      'an invalid id in a filter',
      placeWith('orders(filter: { petId: "x" }) { nodes { id } }'),
      'INVALID_ID',
    ],
    ['null as the condition of a directive', placeWith('name'), 'INVALID_INPUT', { yes: null }],
    [
      'null in the input of a later mutation',
      'mutation ($petId: ID!, $x: ID = 1) { a: placeOrder(input: { petId: $petId, quantity: 1 }) { __typename } b: placeOrders(input: [{ petId: $x, quantity: 1 }]) { __typename } }',
      'INVALID_INPUT',
      { x: null },
    ],
  ])(
    'causes a mutation to be rejected before it writes: %s',
    async (_what, mutation, code, variables) => {
      const orders = sql`select id from orders order by id`;
      const before = await gateway.db.query(orders);
      const { data, errors, status } = await gateway.graphql(mutation, { petId, ...variables });
      expect({ status, data }).toEqual({ status: 400, data: undefined });
      expect(errors).toMatchObject([{ extensions: { code } }]);
      expect(await gateway.db.query(orders)).toEqual(before);
    },
  );

  it('is reported together with all other such errors, before a query reads anything', async () => {
    const query = `query ($id: ID!) {
        good: pet(id: "1") { id } bad: pet(id: $id) { id } pets(first: 101) { nodes { id } } ...F ...F
      } fragment F on Query { orders(after: "x") { nodes { id } } }`;
    for (let time = 1; time <= 4; time += 1) {
      gateway.statements.length = 0;
      const { data, errors } = await gateway.graphql(query, { id: '1'.repeat(20) });
      expect(data).toBeUndefined();
      expect(errors?.map(({ extensions: { code } }) => code)).toEqual([
        'INVALID_ID',
        'INVALID_INPUT',
        'INVALID_CURSOR',
      ]);
      expect(errors?.every(({ path, locations }) => !path && locations?.length === 1)).toBe(true);
      expect(gateway.statements).toEqual([]);
    }
  });
});
