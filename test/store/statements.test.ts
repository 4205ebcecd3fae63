import {
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
import sql, { raw } from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';

import { type Cost, COSTS } from '../../bench/statements.ts';
import { petStore } from '../../src/store/index.ts';
import { argumentsFor, CRUD, nextRow } from '../support/crud.ts';
import { namesWithoutOperation } from '../support/every-operation.ts';
import { useGateway, gateway } from '../support/gateway.ts';
import { insertSql, MODELS, referSql } from '../support/rows.ts';

async function ask(request: string, first: number): Promise<string> {
  if (request.startsWith('/')) return (await gateway.rest(request)).text();
  return JSON.stringify(await gateway.data(request, { first }));
}

const isOfStore = (type: GraphQLObjectType): boolean =>
  type.getInterfaces().some(({ name }) => name === 'Node');

/** Whether a field needs a statement: root fields, relations and counts. */
const isLoaded = (type: GraphQLObjectType, field: GraphQLField<unknown, unknown>): boolean => {
  const isOfTable = ['Query', 'Mutation'].includes(type.name) || isOfStore(type);
  return field.name === 'totalCount' || (isOfTable && isCompositeType(getNamedType(field.type)));
};

const { schema } = petStore;
const coordinates = Object.values(schema.getTypeMap())
  .filter(isObjectType)
  .flatMap((type) =>
    Object.values(type.getFields())
      .filter((field) => isLoaded(type, field))
      .map((field) => ({ coordinate: `${type.name}.${field.name}`, type, field })),
  );

function fieldsIn(costs: readonly Cost[]): Set<string> {
  const asked = new Set<string>();
  const types = new TypeInfo(schema);
  const collect = visitWithTypeInfo(types, {
    Field: () => void asked.add(`${types.getParentType()?.name}.${types.getFieldDef()?.name}`),
  });
  for (const { request } of costs) {
    if (!request.startsWith('/')) visit(parse(request), collect);
  }
  return asked;
}

const listWith = (connection: string): string | undefined =>
  Object.values(schema.getQueryType()?.getFields() ?? {}).find(
    ({ type }) => getNamedType(type).name === connection,
  )?.name;

const someOf = ({ type }: GraphQLField<unknown, unknown>, size: string): string =>
  getNamedType(type).name.endsWith('Connection')
    ? `(first: ${size}) { nodes { __typename } }`
    : ' { __typename }';

type Counted = Pick<Cost, 'request' | 'statements'>;

const pageOf = (list: string, fields: string): string =>
  `query ($first: Int!) { ${list}(first: $first) { ${fields} } }`;

function countedMutation({ name }: GraphQLField<unknown, unknown>): Counted | undefined {
  const crud = CRUD.find((one) => one.name === name);
  if (!crud) return undefined;
  const isDelete = crud.kind === 'delete';
  const id = isDelete ? '31' : '1';
  const args = argumentsFor(crud, 1000 + nextRow(), () => '1', { id, fields: 'all' });
  // A row that others refer to is not deleted, which takes the same statement.
  const errors = isDelete ? '' : ' ... on Error { message }';
  const request = `mutation { ${name}(${args}) { __typename${errors} } }`;
  return { request, statements: crud.kind === 'updateMany' ? 2 : 1 };
}

function countedQuery({
  name,
  args,
  extensions,
}: GraphQLField<unknown, unknown>): Counted | undefined {
  const kind = extensions.sql?.kind;
  if (kind === 'list') return { request: pageOf(name, 'nodes { __typename }'), statements: 1 };
  if (kind !== 'row') return undefined;
  return { request: `{ ${name}(${args[0]?.name}: 1) { __typename } }`, statements: 1 };
}

/** Returns an operation with a field that needs a statement; undefined if only the store knows how to use the field. */
function countedOf({ type, field }: (typeof coordinates)[number]): Counted | undefined {
  if (type === schema.getMutationType()) return countedMutation(field);
  if (type === schema.getQueryType()) return countedQuery(field);
  const list = listWith(isOfStore(type) ? `${type.name}Connection` : type.name);
  if (!list) return undefined;
  const fields = isOfStore(type)
    ? `nodes { ${field.name}${someOf(field, '2')} }`
    : 'totalCount nodes { __typename }';
  return { request: pageOf(list, fields), statements: 2 };
}

/** The operations of bench/statements.ts, and one for each other field that needs a statement. */
const listed = fieldsIn(COSTS);
const ALL_COSTS = [
  ...COSTS,
  ...coordinates
    .filter(({ coordinate }) => !listed.has(coordinate))
    .flatMap((one) => {
      const counted = countedOf(one);
      return counted ? [{ operation: one.coordinate, ...counted }] : [];
    }),
];

useGateway();
/**
 * 31 categories: the first has 5 pets, the last none, the others 4. Each pet has stock, and each of
 * the first 120 has two orders. Any other table has rows that are derived from the model.
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
  for (const model of MODELS) {
    const rows = await gateway.db.query(sql`select from ${raw(model.name)} limit 1`);
    if (rows.length === 0) await write(sql`${raw(insertSql(model, 121, 30))}`);
  }
  for (const text of MODELS.flatMap((model) => referSql(model, 30))) await write(sql`${raw(text)}`);
});

it.each(ALL_COSTS)(
  'the number of SQL statements for an operation is the one listed in bench/statements.ts, or the one that its fields imply: $operation',
  async ({ request, statements }) => {
    // A page needs the same number of statements, however many rows it has.
    for (const first of request.includes('$first') ? [2, 30] : [0]) {
      gateway.statements.length = 0;
      expect(await ask(request, first)).not.toContain('"message"');
      expect(gateway.statements).toHaveLength(statements);
    }
  },
);

describe('lookups and pages that are requested at the same time', () => {
  it('share a SQL statement if all of them look up rows of one type by id', async () => {
    gateway.statements.length = 0;
    const { a, b, none } = await gateway.data(
      '{ a: pet(id: 1) { id } b: pet(id: 2) { id } again: pet(id: 1) { id } none: pet(id: 999999) { id } }',
    );
    expect([a.id, b.id, none]).toEqual(['1', '2', null]);
    expect(gateway.statements).toHaveLength(1);
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

it('each field that needs a statement is in an operation whose statements are counted', () => {
  const asked = fieldsIn(ALL_COSTS);
  const missing = coordinates.map(({ coordinate }) => coordinate).filter((one) => !asked.has(one));
  expect(missing, 'add an operation with each to COSTS in bench/statements.ts').toEqual([]);
});

it('the operations that are recorded for a release use every mutation and every input field', () => {
  const missing = namesWithoutOperation(schema);
  expect(missing, 'add an operation with each to test/support/every-operation.ts').toEqual([]);
});
