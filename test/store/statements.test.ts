import { readFileSync } from 'node:fs';

import {
  buildSchema,
  getNamedType,
  type GraphQLField,
  type GraphQLObjectType,
  isCompositeType,
  isObjectType,
  parse,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';

import { COSTS } from '../../bench/statements.ts';
import { petStore } from '../../src/store/index.ts';
import { namesWithoutOperation } from '../support/every-operation.ts';
import { useGateway, gateway } from '../support/gateway.ts';

/** Sends a request and returns the body of the response. */
async function ask(request: string, first: number): Promise<string> {
  if (request.startsWith('/')) return (await gateway.rest(request)).text();
  return JSON.stringify(await gateway.data(request, { first }));
}

/** Whether a field needs a statement: root fields, relations and counts. */
const isLoaded = (type: GraphQLObjectType, field: GraphQLField<unknown, unknown>): boolean => {
  const isOfStore =
    ['Query', 'Mutation'].includes(type.name) ||
    type.getInterfaces().some(({ name }) => name === 'Node');
  return field.name === 'totalCount' || (isOfStore && isCompositeType(getNamedType(field.type)));
};

useGateway();
/**
 * 31 categories: the first has 5 pets, the last none, the others 4. Each pet has stock, and each of
 * the first 120 has two orders.
 */
beforeAll(async () => {
  const { write } = gateway.db;
  await write(sql`insert into categories (name)
      select 'Category ' || number from generate_series(0, 30) as number`);
  await write(sql`insert into pets (name, category_id)
      select 'Pet ' || number, 1 + number % 30 from generate_series(0, 120) as number`);
  await write(sql`insert into inventory_items select id, 9 from pets`);
  await write(sql`insert into orders (pet_id, quantity)
      select 1 + number % 120, 1 from generate_series(0, 239) as number`);
});

describe('the number of SQL statements for an operation', () => {
  it.each(COSTS)(
    'is the one listed in bench/statements.ts: $operation',
    async ({ request, statements }) => {
      // A page needs the same number of statements, however many rows it has.
      for (const first of request.includes('$first') ? [2, 30] : [0]) {
        gateway.statements.length = 0;
        expect(await ask(request, first)).not.toContain('"message"');
        expect(gateway.statements).toHaveLength(statements);
      }
    },
  );
});

describe('lookups and pages that are requested at the same time', () => {
  it('share a SQL statement if all of them look up rows of one type by id', async () => {
    gateway.statements.length = 0;
    const { a, b, none } = await gateway.data(
      '{ a: pet(id: 1) { id } b: pet(id: 2) { id } again: pet(id: 1) { id } none: pet(id: 999999) { id } }',
    );
    expect([a.id, b.id, none]).toEqual(['1', '2', null]);
    expect(gateway.statements).toHaveLength(1);
  });

  it('succeed even if the cursor of another page is invalid', async () => {
    const query = `query ($after: String) {
      categories(first: 2) { nodes { pets(first: 1, after: $after) { nodes { name } } } }
    }`;
    const [good, bad] = await Promise.all([
      gateway.graphql(query),
      gateway.graphql(query, { after: 'nonsense' }),
    ]);
    expect(good.errors).toBeUndefined();
    expect(bad.errors?.[0]?.extensions.code).toBe('INVALID_CURSOR');
  });

  it('return their own rows if their arguments differ', async () => {
    const { first, last, category } = await gateway.data(`{
      first: pets(first: 1, filter: { ids: [2, 92] }) { nodes { name } }
      last: pets(last: 1, filter: { ids: [2, 92] }) { nodes { name } }
      category(id: 2) {
        one: pets(first: 1) { nodes { name } }
        last: pets(last: 1) { nodes { name } }
        none: pets(filter: { status: [SOLD] }) { totalCount }
        all: pets { totalCount }
      }
    }`);
    expect([first, last]).toEqual(['Pet 1', 'Pet 91'].map((name) => ({ nodes: [{ name }] })));
    expect(category).toEqual({
      one: { nodes: [{ name: 'Pet 1' }] },
      last: { nodes: [{ name: 'Pet 91' }] },
      none: { totalCount: 0 },
      all: { totalCount: 4 },
    });
  });
});

describe('the table of SQL statements in bench/statements.ts', () => {
  const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));

  it('covers each field that needs a statement', () => {
    const coordinates = Object.values(schema.getTypeMap())
      .filter(isObjectType)
      .flatMap((type) =>
        Object.values(type.getFields())
          .filter((field) => isLoaded(type, field))
          .map(({ name }) => `${type.name}.${name}`),
      );
    const asked = new Set<string>();
    const types = new TypeInfo(schema);
    const collect = visitWithTypeInfo(types, {
      Field: () => void asked.add(`${types.getParentType()?.name}.${types.getFieldDef()?.name}`),
    });
    for (const { request } of COSTS) {
      if (!request.startsWith('/')) visit(parse(request), collect);
    }
    const missing = coordinates.filter((coordinate) => !asked.has(coordinate));
    expect(missing, 'add an operation with each to COSTS in bench/statements.ts').toEqual([]);
  });
});

it('the operations that are recorded for a release use every mutation and every input field', () => {
  const missing = namesWithoutOperation(petStore.schema);
  expect(missing, 'add an operation with each to test/support/every-operation.ts').toEqual([]);
});
