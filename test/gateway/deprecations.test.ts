import { type GraphQLField, isObjectType } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { makeCategory } from '../support/make.ts';

const { schema } = petStore;

const COORDINATE = 'Category.description';

/** The field that these tests deprecate, because the schema currently has no deprecated field. */
function fieldOf(): GraphQLField<unknown, unknown> {
  const type = schema.getType('Category');
  const field = isObjectType(type) ? type.getFields()['description'] : undefined;
  if (!field) throw new Error(`The schema has no ${COORDINATE}.`);
  return field;
}

const field = fieldOf();

let gateway: Gateway;
let id: string;
beforeAll(async () => {
  field.deprecationReason = 'Use name.';
  gateway = await startGateway();
  id = await makeCategory(gateway, 'Cats');
});
afterAll(async () => {
  field.deprecationReason = undefined;
  await gateway.close();
});

/** Returns the extensions of a response. */
const extensionsOf = async (selection: string): Promise<unknown> =>
  (await gateway.graphql(`{ category(id: ${id}) ${selection} }`)).extensions;

describe('a GraphQL response', () => {
  it.each([
    ['is selected', '{ name description }'],
    [
      'is selected twice, with an alias and in a fragment',
      '{ a: description ... on Category { description } }',
    ],
    ['is skipped', '{ name description @skip(if: true) }'],
  ])('reports a deprecated field exactly once if the field %s', async (_which, selection) => {
    const deprecations = [{ coordinate: COORDINATE, reason: 'Use name.' }];
    expect(await extensionsOf(selection)).toEqual({ deprecations });
  });

  it('has no extensions if no deprecated field is used', async () => {
    expect(await extensionsOf('{ name }')).toBeUndefined();
  });
});
