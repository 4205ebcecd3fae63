import { isEnumType } from 'graphql';
import { beforeAll, expect, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import { gateway, useGateway } from '../support/gateway.ts';
import { readMetrics, sumOf } from '../support/metrics.ts';

/** Returns a field, input field, enum value or argument, such as `Query.pets(orderBy)`. */
function elementOf(coordinate: string): { deprecationReason?: string | null | undefined } {
  const [typeName = '', name = '', argument] = coordinate.split(/[.()]/);
  const type = petStore.schema.getType(typeName);
  const fields = type && 'getFields' in type ? type.getFields() : {};
  const field = isEnumType(type) ? type.getValue(name) : fields[name];
  const args = field && 'args' in field ? field.args : [];
  const found = argument ? args.find((arg) => arg.name === argument) : field;
  if (!found) throw new Error(`The schema has no ${coordinate}.`);
  return found;
}

/** What these tests deprecate in the schema. */
const DEPRECATED = [
  'Category.description',
  'Error.code',
  'PetNotFound.code',
  'Query.inventory',
  'PetFilter.name',
  'PetStatus.SOLD',
  'Query.pets(orderBy)',
].map(elementOf);

beforeAll(() => {
  for (const element of DEPRECATED) element.deprecationReason = 'Use another.';
  return () => {
    for (const element of DEPRECATED) element.deprecationReason = undefined;
  };
});
useGateway();

it.each([
  [
    'a field once, also if it is skipped',
    '{ category(id: 1) { a: description description @skip(if: true) } }',
    ['Category.description'],
  ],
  [
    "a field of an interface, under the interface's name",
    'mutation { deletePet(id: "9") { ... on PetNotFound { code } ... on Error { code } } }',
    ['Error.code'],
  ],
  ['a root field', '{ inventory { totalCount } }', ['Query.inventory']],
  ['an argument', '{ pets(orderBy: { field: NAME }) { totalCount } }', ['Query.pets(orderBy:)']],
  [
    'an input field and an enum value',
    '{ pets(filter: { name: "abc", status: [SOLD, PENDING] }) { totalCount } }',
    ['PetFilter.name', 'PetStatus.SOLD'],
  ],
  [
    'the default of a variable',
    'query ($s: PetStatus = SOLD) { pets(filter: { status: [$s] }) { totalCount } }',
    ['PetStatus.SOLD'],
  ],
])(
  'a response reports what is deprecated in its document, and the metrics count it: %s',
  async (_what, query, coordinates) => {
    const calls = async (): Promise<number[]> => {
      const samples = await readMetrics(gateway);
      return coordinates.map((operation) => sumOf(samples, 'operation_calls_total', { operation }));
    };
    const before = await calls();
    const { extensions } = await gateway.graphql(query);
    expect(extensions).toEqual({
      deprecations: coordinates.map((coordinate) => ({ coordinate, reason: 'Use another.' })),
    });
    expect(await calls()).toEqual(before.map((count) => count + 1));
  },
);

it('a response reports no deprecation if its document uses nothing deprecated', async () => {
  expect((await gateway.graphql('{ pets { totalCount } }')).extensions).toBeUndefined();
});
