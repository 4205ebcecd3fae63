import { readFile } from 'node:fs/promises';

import {
  getNamedType,
  type GraphQLArgument,
  type GraphQLNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
  isUnionType,
} from 'graphql';
import { describe, expect, it } from 'vitest';

import { StoreBuilder } from '../../src/gateway/index.ts';
import { printSchema } from '../../src/gateway/schema/print.ts';
import { petStore } from '../../src/store/index.ts';
import { getDatamodel } from './bookshop/generated/pothos.ts';
import { TABLES } from './bookshop/generated/tables.ts';

const { schema } = petStore;

interface Member {
  coordinate: string;
  description: string | null | undefined;
}

/** A type and everything in it that a caller can name. */
function membersOf(type: GraphQLNamedType): Member[] {
  const { name, description } = type;
  const found: Member[] = [{ coordinate: name, description }];
  if (isEnumType(type)) {
    const values = type.getValues();
    found.push(...values.map((value) => ({ ...value, coordinate: `${name}.${value.name}` })));
  }
  if (isObjectType(type) || isInterfaceType(type) || isInputObjectType(type)) {
    for (const field of Object.values(type.getFields())) {
      const coordinate = `${name}.${field.name}`;
      found.push({ ...field, coordinate });
      const args: readonly GraphQLArgument[] = 'args' in field ? field.args : [];
      found.push(...args.map((arg) => ({ ...arg, coordinate: `${coordinate}(${arg.name}:)` })));
    }
  }
  return found;
}

const types = Object.values(schema.getTypeMap()).filter(
  (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
);
const mutations = Object.values(schema.getMutationType()?.getFields() ?? {});

it('schema.graphql matches what the code prints', async () => {
  const printed = await readFile(new URL('../../schema.graphql', import.meta.url), 'utf8');
  expect(printed).toBe(printSchema(petStore.schema));
});

describe('the schema', () => {
  it.each(types.map((type) => [type.name, type] as const))(
    'has descriptions for the type %s and everything in it',
    (_name, type) => {
      const bare = membersOf(type).filter(({ description }) => !description?.trim());
      expect(bare.map(({ coordinate }) => coordinate)).toEqual([]);
    },
  );

  it.each(mutations.map((field) => [field.name, getNamedType(field.type)] as const))(
    "declares the result of %s as a union of one payload and the mutation's errors",
    (name, type) => {
      expect(type.name).toBe(`${name[0]?.toUpperCase()}${name.slice(1)}Result`);
      const members = isUnionType(type) ? type.getTypes() : [];
      const isError = (member: (typeof members)[number]): boolean =>
        member.getInterfaces().some((parent) => parent.name === 'Error');
      expect(members.filter((member) => !isError(member))).toHaveLength(1);
      expect(members.filter(isError).length).toBeGreaterThan(0);
    },
  );
});

it("building a store's schema fails if one of its models has no type", () => {
  const store = new StoreBuilder({
    datamodel: getDatamodel(),
    tables: TABLES,
    scopes: [],
  });
  expect(() => store.createSchema()).toThrow(
    'Author has no fields: the store must import its schema.ts.',
  );
});
