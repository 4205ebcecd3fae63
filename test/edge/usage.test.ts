import { type DocumentNode, buildSchema, parse } from 'graphql';
import { describe, expect, it } from 'vitest';

import { type Operation, operationOf } from '../../src/graphql/analysis/operation.ts';
import { type Usage, usageOf } from '../../src/graphql/analysis/usage.ts';
import type { Call } from '../../src/graphql/execution/call.ts';
import { countCalls } from '../../src/graphql/execution/count-calls.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { parseMetrics } from '../support/metrics.ts';

const schema = buildSchema(`
  type Query { pet(id: ID, old: Int @deprecated): Pet  pets(filter: Filter, status: Status): [Pet] }
  type Mutation { sell: Pet @deprecated  buy: Pet }
  type Pet { name: String  nick: String @deprecated  mother: Pet }
  enum Status { NEW  LOST @deprecated }
  input Filter { status: [Status]  tag: String @deprecated  or: [Filter] }
`);

/** Returns an operation of a document. */
function operationIn(document: DocumentNode, operationName?: string): Operation {
  const operation = operationOf(document, operationName);
  if (!operation) throw new Error('The document has no such operation.');
  return operation;
}

/** Returns what an operation of a document uses. */
const usageIn = (document: DocumentNode, operationName?: string): Usage =>
  usageOf(schema, operationIn(document, operationName));

describe('the usage of a document', () => {
  it.each([
    ['a field', '{ pet { mother { nick } } }', ['Query.pet'], ['Pet.nick']],
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
    [
      'a fragment',
      '{ pet { ...A } } fragment A on Pet { mother { ...B } } fragment B on Pet { nick }',
      ['Query.pet'],
      ['Pet.nick'],
    ],
    ['a root field', 'mutation { sell { name } }', ['Mutation.sell'], ['Mutation.sell']],
    ['nothing', 'mutation { buy { name } }', ['Mutation.buy'], []],
    ['introspection', '{ __typename }', ['Query.__typename'], []],
  ])('has the root fields and the deprecated members: %s', (_what, query, roots, deprecated) => {
    expect(usageIn(parse(query))).toMatchObject({ roots, deprecated });
  });

  it.each([
    ['a query', '{ pet { name } }', true],
    ['introspection', '{ __typename __schema { types { fields { name } } } }', false],
    ['both', '{ __typename pets { name } }', true],
    ['a mutation', 'mutation { __typename sell { name nick } }', false],
    ['a mutation that goes on', 'mutation { sell { name } buy { mother { name } } }', true],
    [
      'the same in a fragment',
      'mutation { sell { ...A } } fragment A on Pet { mother { name } }',
      true,
    ],
  ])('knows whether the operation reads: %s', (_what, query, reads) => {
    expect(usageIn(parse(query)).reads).toBe(reads);
  });

  it('is that of the chosen operation, and computed once', () => {
    const document = parse('query A { pet { nick } } query B { pets { name } }');
    const usage = usageIn(document, 'B');
    expect(usage).toMatchObject({ roots: ['Query.pets'], deprecated: [] });
    expect(usageIn(document, 'B')).toBe(usage);
    expect(usageIn(document, 'A').deprecated).toEqual(['Pet.nick']);
    expect(operationOf(document, undefined)).toBeUndefined();
    expect(operationOf(document, 'C')).toBeUndefined();
  });

  it('is counted by caller, once a request, with deprecated members', async () => {
    const metrics = createMetrics();
    const execute = countCalls(() => ({ data: {} }), metrics);
    const context = {
      req: { headers: { 'user-agent': 'shop/1' } },
      caller: {},
    } as Call['context'];
    for (const query of ['{ pet { nick b: nick } }', 'mutation { sell { nick } }']) {
      const operation = operationIn(parse(query));
      execute({ schema, operation, variables: {}, context });
    }
    const texts = await Promise.all(metrics.registries.map((registry) => registry.metrics()));
    const calls = parseMetrics(texts.join('\n')).filter(
      ({ name }) => name === 'operation_calls_total',
    );
    expect(
      calls.map(({ labels, value }) => [labels['operation'], labels['caller'], value]),
    ).toEqual([
      ['Query.pet', 'shop', 1],
      ['Pet.nick', 'shop', 2],
      ['Mutation.sell', 'shop', 1],
    ]);
  });
});
