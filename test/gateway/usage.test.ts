import { buildSchema, isObjectType, parse } from 'graphql';
import { expect, it } from 'vitest';

import type { Usage } from '../../src/gateway/operation/accept/usage.ts';
import { ParsedDocument } from '../../src/gateway/operation/operation.ts';
import { petStore } from '../../src/store/index.ts';
import { startGateway } from '../support/gateway.ts';
import { makeCategory } from '../support/make.ts';

const schema = buildSchema(`
  type Query { pet(id: ID, old: Int @deprecated): Pet  pets(filter: Filter, status: Status): [Pet] }
  type Mutation { sell: Pet @deprecated  buy: Pet }
  interface Named { title: String @deprecated }
  type Pet implements Named { title: String @deprecated  name: String  nick: String @deprecated  mother: Pet }
  enum Status { NEW  LOST @deprecated }
  input Filter { status: [Status]  tag: String @deprecated  or: [Filter] }
`);

/** Returns the usage of a document's operation. */
function usageIn(query: string): Usage {
  const operation = new ParsedDocument(schema, parse(query)).find();
  if (!operation) throw new Error('The document has no operation.');
  return operation.usage;
}

it.each([
  [
    "a field of an interface, under the interface's name",
    '{ pet { title ... on Named { title } } }',
    ['Query.pet'],
    ['Named.title'],
  ],
  ['an argument', '{ pet(id: 1, old: 2) { name } }', ['Query.pet'], ['Query.pet(old:)']],
  ['an enum value', '{ pets(status: LOST) { name } }', ['Query.pets'], ['Status.LOST']],
  [
    'an input field',
    '{ pets(filter: { or: [{ tag: "a", status: [LOST, NEW] }] }) { name } }',
    ['Query.pets'],
    ['Filter.tag', 'Status.LOST'],
  ],
  [
    'the default of a variable',
    'query ($s: Status = LOST) { pets(status: $s) { name } }',
    ['Query.pets'],
    ['Status.LOST'],
  ],
  ['a root field', 'mutation { sell { name } }', ['Mutation.sell'], ['Mutation.sell']],
])(
  'the usage of a document contains the root fields and the deprecated members: %s',
  (_what, query, roots, deprecated) => {
    const usage = usageIn(query);
    expect(usage.counted).toEqual(new Set([...roots, ...deprecated]));
    expect([...usage.deprecated.keys()]).toEqual(deprecated);
  },
);

it('a GraphQL response reports each deprecated field once, also if it is skipped, and nothing without one', async () => {
  const type = petStore.schema.getType('Category');
  const field = isObjectType(type) && type.getFields()['description'];
  if (!field) throw new Error('The schema has no Category.description.');
  field.deprecationReason = 'Use name.';
  const gateway = await startGateway();
  const id = await makeCategory(gateway);
  const ask = (selection: string) => gateway.graphql(`{ category(id: ${id}) { ${selection} } }`);
  const deprecations = [{ coordinate: 'Category.description', reason: 'Use name.' }];
  for (const selection of ['a: description ... { description }', 'description @skip(if: true)']) {
    expect((await ask(`name ${selection}`)).extensions).toEqual({ deprecations });
  }
  expect((await ask('name')).extensions).toBeUndefined();
  field.deprecationReason = undefined;
  await gateway.close();
});
