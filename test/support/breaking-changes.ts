import { type Change, ChangeType, CriticalityLevel, diff } from '@graphql-inspector/core';
import { filterSchema, pruneSchema } from '@graphql-tools/utils';
import {
  buildSchema,
  type ConstDirectiveNode,
  getNamedType,
  type GraphQLSchema,
  isObjectType,
} from 'graphql';

import { findOpenApiChanges } from './openapi-changes.ts';

/** A change that a caller of the last release can stumble over. */
export interface BreakingChange {
  /** What an entry of the changelog calls it. */
  readonly name: string;
  readonly message: string;
  /** True if the last release announced that this ends or may change. */
  readonly announced: boolean;
}

const isError = (schema: GraphQLSchema, name: string): boolean => {
  const type = schema.getType(name);
  return isObjectType(type) && type.getInterfaces().some((parent) => parent.name === 'Error');
};

const ALWAYS_ADDITIVE = new Set<string>([
  ChangeType.FieldArgumentAdded,
  ChangeType.InputFieldAdded,
  ChangeType.ObjectTypeInterfaceAdded,
  ChangeType.DirectiveUsageArgumentRemoved,
  ChangeType.DirectiveUsageArgumentDefinitionRemoved,
  ChangeType.DirectiveUsageEnumValueRemoved,
  ChangeType.DirectiveUsageFieldDefinitionRemoved,
  ChangeType.DirectiveUsageInputFieldDefinitionRemoved,
  // It can only be @specifiedBy.
  ChangeType.DirectiveUsageScalarAdded,
]);

/** Whether a response can have the values of an enum. */
const isInResponses = (schema: GraphQLSchema, enumName: string): boolean =>
  Object.values(schema.getTypeMap())
    .flatMap((type) => (isObjectType(type) ? [type] : []))
    .flatMap((type) => Object.values(type.getFields()))
    .some(({ type }) => getNamedType(type).name === enumName);

/**
 * Nobody receives a new value of an enum that only inputs have. Every error must be expected: `... on Error`
 * and an unknown code are the contract's own words. Directives may be removed or changed, but a stable member
 * must not become experimental.
 */
function isAdditive(change: Change, before: GraphQLSchema, after: GraphQLSchema): boolean {
  switch (change.type) {
    case ChangeType.UnionMemberAdded:
      return isError(after, change.meta.addedUnionMemberTypeName);
    case ChangeType.EnumValueAdded:
      return change.meta.enumName === 'ErrorCode' || !isInResponses(before, change.meta.enumName);
    case ChangeType.DirectiveUsageArgumentDefinitionAdded:
    case ChangeType.DirectiveUsageFieldDefinitionAdded:
    case ChangeType.DirectiveUsageInputFieldDefinitionAdded:
      return change.meta.addedDirectiveName !== 'requiresOptIn';
    default:
      return ALWAYS_ADDITIVE.has(change.type);
  }
}

interface Member {
  deprecationReason?: string | null | undefined;
  astNode?: { readonly directives?: readonly ConstDirectiveNode[] | undefined } | null | undefined;
}

const stays = ({ deprecationReason, astNode }: Member): boolean =>
  deprecationReason == null &&
  !astNode?.directives?.some(({ name }) => name.value === 'requiresOptIn');

/** The schema without deprecated and experimental members, and without types that only these use. */
function withoutUnstable(schema: GraphQLSchema): GraphQLSchema {
  return pruneSchema(
    filterSchema({
      schema,
      fieldFilter: (_type, _field, config) => stays(config),
      inputObjectFieldFilter: (_type, _field, config) => stays(config),
      argumentFilter: (_type, _field, _argument, config) => stays(config ?? {}),
      enumValueFilter: (_type, _value, config) => stays(config),
    }),
  );
}

/** Converts a path of the inspector to a schema coordinate; a directive to that of its member. */
const toCoordinate = (path = 'schema'): string =>
  path.replace(/\.@.*$/, '').replace(/^(\w+\.\w+)\.(\w+)$/, '$1($2:)');

/** What callers of a released GraphQL schema, printed, stumble over in the current one. */
export async function findGraphqlBreaks(
  released: string,
  current: string,
): Promise<BreakingChange[]> {
  const [before, after] = [buildSchema(released), buildSchema(current)];
  const ending = await diff(before, withoutUnstable(before));
  const endingPaths = new Set(ending.map(({ path }) => path));
  const isAnnounced = (path = ''): boolean =>
    path.split('.').some((_, index, parts) => endingPaths.has(parts.slice(0, index + 1).join('.')));
  const changes = await diff(before, after);
  return changes
    .filter(({ criticality }) => criticality.level !== CriticalityLevel.NonBreaking)
    .filter(
      (change) =>
        change.criticality.level === CriticalityLevel.Breaking ||
        !isAdditive(change, before, after),
    )
    .map(({ path, message }) => ({
      name: toCoordinate(path),
      message: `${message}.`,
      announced: isAnnounced(path),
    }));
}

/** What callers of a released OpenAPI document stumble over in the current one. */
export const findRestBreaks = (released: object, current: object): BreakingChange[] =>
  findOpenApiChanges(released, current).map(({ coordinate, message }) => ({
    name: coordinate,
    message,
    announced: false,
  }));
