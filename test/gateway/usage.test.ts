import { buildSchema, parse } from 'graphql';
import { describe, expect, it } from 'vitest';

import type { Usage } from '../../src/gateway/operation/accept/usage.ts';
import { ParsedDocument } from '../../src/gateway/operation/operation.ts';

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

describe('the usage of a document', () => {
  it.each([
    ['a field', '{ pet { mother { nick } } }', ['Query.pet'], ['Pet.nick']],
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
    ['introspection', '{ __typename }', ['Query.__typename'], []],
  ])(
    'contains the root fields and the deprecated members: %s',
    (_what, query, roots, deprecated) => {
      const usage = usageIn(query);
      expect(usage.counted).toEqual(new Set([...roots, ...deprecated]));
      expect([...usage.deprecated.keys()]).toEqual(deprecated);
    },
  );
});
