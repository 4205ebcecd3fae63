import { assert, asyncProperty } from 'fast-check';
import { type GraphQLObjectType, OperationTypeNode } from 'graphql';
import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import { countFields, estimateOf } from '../support/cost.ts';
import { gateway, postOperation, startOther, useGateway } from '../support/gateway.ts';
import { type Operation, operationsOn, TAME, UNLIMITED } from '../support/operations.ts';
import { repeat } from '../support/repeat.ts';

const { schema } = petStore;

// Each of these characters takes six bytes in JSON.
const LONG_NAME = '\u0001'.repeat(255);
const LONG_DESCRIPTION = '\u0001'.repeat(2000);
const MAX_BYTES = 1_000_000;

const TOO_LARGE = [{ extensions: { code: 'RESPONSE_TOO_LARGE', status: 400 } }];

useGateway({ MAX_RESPONSE_BYTES: String(MAX_BYTES) });
beforeAll(async () => {
  const { write } = gateway.db;
  await write(sql`insert into categories (name, description)
      select ${LONG_NAME}, ${LONG_DESCRIPTION} from generate_series(1, 20)`);
  await write(sql`insert into categories (name, description) values ('Fish', 'short')`);
  await write(sql`insert into pets (name, category_id) values (${LONG_NAME}, 1)`);
  await write(sql`insert into inventory_items select id, 100 from pets`);
  await write(sql`insert into orders (pet_id, quantity) select id, 1 from pets`);
});

describe('the size of a GraphQL response', () => {
  it.each([
    ['long strings', `{ categories { nodes { ${repeat(9, (i) => `a${i}: description`)} } } }`],
    [
      'long keys',
      `{ categories { nodes { ${repeat(20, (i) => `${'k'.repeat(2000)}${i}: id`)} ${repeat(20, (i) => `a${i}: name`)} } } }`,
    ],
    [
      'many cursors',
      `{ categories(orderBy: { field: NAME }) { edges { ${repeat(30, (i) => `a${i}: cursor`)} } } }`,
    ],
  ])('cannot exceed MAX_RESPONSE_BYTES: %s', async (_what, query) => {
    // The third time, the query is compiled.
    for (let time = 1; time <= 3; time += 1) {
      const { status, data, errors } = await gateway.graphql(query);
      expect([status, data]).toEqual([400, undefined]);
      expect(errors).toMatchObject(TOO_LARGE);
    }
  });

  it('decides whether a query is rejected, even if the estimated size is above MAX_RESPONSE_BYTES', async () => {
    const query = `{ category(id: 21) { ${repeat(84, (i) => `a${i}: description`)} } }`;
    expect(estimateOf({ query, variables: {} }).bytes).toBeGreaterThan(MAX_BYTES);
    const { category } = await gateway.data(query);
    expect(category.a83).toBe('short');
  });

  it('is estimated before a mutation is executed, so that a mutation whose response could be too large writes nothing', async () => {
    const order = `placeOrder(input: { petId: 1, quantity: 1 }) { ... on Order { pet { category { ${repeat(84, (i) => `a${i}: description`)} } } } }`;
    const before = await gateway.data('{ inventoryItem(petId: 1) { quantity } }');
    const { errors } = await gateway.graphql(`mutation { ${order} }`);
    expect(errors).toMatchObject(TOO_LARGE);
    expect(await gateway.data('{ inventoryItem(petId: 1) { quantity } }')).toEqual(before);
  });

  const LINES: Record<string, object> = {
    createPets: { name: '\u0001'.repeat(300), categoryId: 'x', quantity: -1 },
    updatePets: { id: 'x', name: '', categoryId: 'x' },
    placeOrders: { petId: 'x', quantity: 0, shipDate: '1990-01-01T00:00:00Z' },
    updateInventories: { petId: 'x', quantity: -1, expectedQuantity: -1 },
    adjustInventories: { petId: 'x', by: 0 },
  };

  it.each(Object.entries(LINES))(
    'does not exceed the estimate for the errors of a mutation with many invalid lines: %s',
    async (mutation, line) => {
      const input = schema.getMutationType()?.getFields()[mutation]?.args[0]?.type;
      const query = `mutation ($lines: ${String(input)}) { ${mutation}(input: $lines) { ... on Error { code message }
        ... on InvalidInput { issueCount issues { code line path ${repeat(10, (i) => `m${i}: message`)} } } } }`;
      const variables = { lines: Array<object>(300).fill(line) };
      const { bytes, cost } = estimateOf({ query, variables });
      const { data } = await gateway.graphql(query, variables);
      expect(data[mutation].issues).toHaveLength(100);
      expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThan(bytes);
      expect(countFields(data)).toBeLessThan(cost);
    },
  );

  it('that exceeds the estimate of a mutation is a defect, which the log names', async () => {
    const field = schema.getType('Category') as GraphQLObjectType;
    const { description } = field.getFields();
    const { extensions } = description ?? {};
    Object.assign(description ?? {}, { extensions: { ...extensions, maxBytes: 10 } });
    const small = await startOther({ MAX_RESPONSE_BYTES: '10000' });
    const { status, data, errors } = await small.graphql(
      `mutation ($text: String) { createCategory(input: { name: "defect", description: $text }) { ... on Category { description } } }`,
      { text: LONG_DESCRIPTION },
    );
    Object.assign(description ?? {}, { extensions });
    expect([status, data]).toEqual([500, undefined]);
    expect(errors?.[0]?.message).toMatch(/^The mutation was executed, but its response is larger/);
    expect(small.loggedErrors.splice(0)).toHaveLength(1);
  });

  it('does not exceed the estimate for generated queries', async () => {
    const limits = { ...UNLIMITED, maxResponseBytes: 500_000_000 };
    const open = await startOther({}, limits);
    const queries = operationsOn(schema, OperationTypeNode.QUERY, 6, TAME);
    const check = async (operation: Operation): Promise<void> => {
      const { data } = await postOperation(open, operation);
      const { bytes } = estimateOf(operation);
      expect(Buffer.byteLength(JSON.stringify(data ?? null))).toBeLessThan(bytes + 10);
    };
    await assert(asyncProperty(queries, check), { numRuns: 30 });
  });
});

it('a query waits for a turn, which is in the log, if its result may be larger than two megabytes', async () => {
  const all = repeat(90, (index) => `n${index}: description`);
  for (const [name, fields, waits] of [
    ['Large', all, true],
    ['Small', 'name', false],
  ] as const) {
    const query = `query ${name} { categories(first: 100) { nodes { ${fields} } } }`;
    // A new document waits in another queue.
    for (const _ of [1, 2]) await gateway.graphql(query);
    const ended = () => gateway.loggedLines.filter((line) => Object(line).operationName === name);
    await expect.poll(ended).toHaveLength(2);
    expect(Object(ended()[1]).queueMs !== undefined).toBe(waits);
  }
});
