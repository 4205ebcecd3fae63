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

import { ERRORS } from '../../src/contract/error-codes.ts';
import { GRAPHQL_LIFECYCLES, REST_LIFECYCLES, toDay } from '../../src/contract/lifecycle.ts';
import { printedSchema, schema } from '../../src/graphql/schema.ts';

interface Member {
  coordinate: string;
  description: string | null | undefined;
  deprecationReason?: string | null | undefined;
  extensions?: Readonly<Record<string, unknown>> | null | undefined;
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

describe('schema.graphql', () => {
  it('is what the code prints', async () => {
    const printed = await readFile(new URL('../../schema.graphql', import.meta.url), 'utf8');
    expect(printed).toBe(printedSchema());
  });
});

describe('the schema', () => {
  it.each(types.map((type) => [type.name, type] as const))('describes all of %s', (_name, type) => {
    const bare = membersOf(type).filter(({ description }) => !description?.trim());
    expect(bare.map(({ coordinate }) => coordinate)).toEqual([]);
  });

  it.each(mutations.map((field) => [field.name, getNamedType(field.type)] as const))(
    'has a result union for %s, of one object and errors',
    (name, type) => {
      expect(type.name).toBe(`${name[0]?.toUpperCase()}${name.slice(1)}Result`);
      const members = isUnionType(type) ? type.getTypes() : [];
      const isError = (member: (typeof members)[number]): boolean =>
        member.getInterfaces().some((parent) => parent.name === 'Error');
      expect(members.filter((member) => !isError(member))).toHaveLength(1);
      expect(members.filter(isError).length).toBeGreaterThan(0);
    },
  );

  it('has a field code, message and status in every error', () => {
    const error = schema.getType('Error');
    const fields = isInterfaceType(error) ? Object.values(error.getFields()) : [];
    expect(fields.map(({ name, type }) => `${name}: ${String(type)}`).toSorted()).toEqual([
      'code: ErrorCode!',
      'message: String!',
      'status: Int!',
    ]);
  });

  it('has exactly the codes of the catalogue in ErrorCode', () => {
    const codes = schema.getType('ErrorCode');
    const values = isEnumType(codes) ? codes.getValues().map(({ name }) => name) : [];
    expect(values.toSorted()).toEqual(Object.keys(ERRORS).toSorted());
  });

  it('has the statuses in capitals', () => {
    const status = schema.getType('PetStatus');
    const values = isEnumType(status) ? status.getValues().map(({ name }) => name) : [];
    expect(values).toEqual(['AVAILABLE', 'PENDING', 'SOLD']);
  });
});

const isOptIn = (extensions: Member['extensions']): boolean =>
  Object.hasOwn(extensions?.['directives'] ?? {}, 'requiresOptIn');

const markOf = ({ deprecationReason, extensions }: Member): string =>
  [deprecationReason, isOptIn(extensions) && 'experimental'].filter(Boolean).join();

describe('the registry of lifecycles', () => {
  const members = types.flatMap(membersOf);
  it('has exactly the members that the schema marks', () => {
    const marked = members.filter((member) => markOf(member) !== '');
    expect(marked.map(({ coordinate }) => coordinate).toSorted()).toEqual(
      [...GRAPHQL_LIFECYCLES.keys()].toSorted(),
    );
  });

  it.each([...GRAPHQL_LIFECYCLES])('is in the schema: %s', (coordinate, lifecycle) => {
    const { deprecatedSince, successor = '' } = lifecycle;
    const expected = deprecatedSince
      ? `Deprecated since ${toDay(deprecatedSince)}: use ${successor}.`
      : 'experimental';
    const found = members.filter((member) => member.coordinate === coordinate);
    expect(found.map(markOf)).toEqual([expected]);
  });

  it('is in schema.graphql', () => {
    const printed = printedSchema();
    expect(printed).toContain('expectedQuantity: Int @requiresOptIn(feature: "expectedQuantity")');
    expect(printed).toContain('quantity: Int! @deprecated(reason: "Deprecated since 2026-11-21:');
  });

  it.each(Object.entries(REST_LIFECYCLES))(
    'has a successor in the schema for %s',
    (_name, life) => {
      expect(members.map(({ coordinate }) => coordinate)).toContain(life.successor);
    },
  );
});
