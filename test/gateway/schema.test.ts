import {
  getNamedType,
  type GraphQLNamedType,
  isEnumType,
  isIntrospectionType,
  isSpecifiedScalarType,
  isUnionType,
} from 'graphql';
import { describe, expect, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';

const { schema } = petStore;

/** Returns a type and everything in it that a caller can name. */
function membersOf(type: GraphQLNamedType) {
  const fields = 'getFields' in type ? Object.values(type.getFields()) : [];
  const members = isEnumType(type) ? type.getValues() : fields;
  const args = members.flatMap((member) => ('args' in member ? member.args : []));
  return [type, ...members, ...args];
}

const types = Object.values(schema.getTypeMap()).filter(
  (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
);
const mutations = Object.values(schema.getMutationType()?.getFields() ?? {});

describe('the schema', () => {
  it.each(types.map((type) => [type.name, type] as const))(
    'has descriptions for the type %s and everything in it',
    (_name, type) => {
      const bare = membersOf(type).filter(({ description }) => !description?.trim());
      expect(bare.map(({ name }) => name)).toEqual([]);
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
