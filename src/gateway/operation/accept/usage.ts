import {
  type ASTVisitor,
  type FieldNode,
  type FragmentDefinitionNode,
  getNamedType,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  isCompositeType,
  isInputObjectType,
  isIntrospectionType,
  type OperationDefinitionNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';

import type { Fragments } from './document-size.ts';

/** The parts of the schema that an operation uses, named by their schema coordinates. */
export interface Usage {
  /** Root fields (such as `Query.node`) and deprecated elements. */
  readonly counted: Set<string>;
  /** The deprecated fields, arguments, input fields and enum values that are used, with their reasons. */
  readonly deprecated: Map<string, string>;
  /** The fields in the document that have arguments, each with its definition in the schema. */
  readonly fields: Map<FieldNode, GraphQLField<unknown, unknown>>;
  /** The scopes that the operation needs, besides those of mutations. */
  readonly scopes: Set<string>;
}

interface Element {
  readonly deprecationReason?: string | null | undefined;
}

/** Whether a type is an error that a mutation returns as data. */
export const isError = (type: GraphQLCompositeType): boolean =>
  type.name === 'Error' ||
  ('getInterfaces' in type && type.getInterfaces().some(({ name }) => name === 'Error'));

/** Whether the resolver of a field computes the value from data that it already has. */
function isOwn({ type, extensions }: GraphQLField<unknown, unknown>): boolean {
  const { ofOtherRow, sql, pothosExposedField } = extensions;
  if (ofOtherRow === false) return true;
  if (isCompositeType(getNamedType(type))) return false;
  return pothosExposedField !== undefined || sql?.kind === 'value' || sql?.kind === 'nodeId';
}

/**
 * Yields the scopes that a field needs. All fields read data, except introspection, mutations themselves, the fields of an
 * error, and values of a row that has already been read or written.
 */
function* scopesOf(schema: GraphQLSchema, typeInfo: TypeInfo): Generator<string> {
  const parent = typeInfo.getParentType();
  const field = typeInfo.getFieldDef();
  if (!parent || !field || field.name.startsWith('__') || isIntrospectionType(parent)) return;
  if (parent === schema.getMutationType()) return;
  if (parent === schema.getQueryType() || !(isError(parent) || isOwn(field))) yield 'read';
  if (field.extensions.scope !== undefined) yield field.extensions.scope;
}

/** Returns the name of the type that declares a field: an interface of `type` that has it, or else `type` itself. */
function declaredBy(type: GraphQLNamedType, field: string): string {
  const interfaces = 'getInterfaces' in type ? type.getInterfaces() : [];
  return (interfaces.find((one) => field in one.getFields()) ?? type).name;
}

function createVisitor(
  schema: GraphQLSchema,
  typeInfo: TypeInfo,
  operation: OperationDefinitionNode,
  used: Usage,
): ASTVisitor {
  const root = schema.getRootType(operation.operation);
  const fieldAt = (): string => {
    const parent = typeInfo.getParentType();
    const name = typeInfo.getFieldDef()?.name ?? '';
    return `${parent && declaredBy(parent, name)}.${name}`;
  };
  const collectDeprecated = (element: Element | null | undefined, coordinate: string): void => {
    const reason = element?.deprecationReason;
    if (reason == null) return;
    used.deprecated.set(coordinate, reason);
    used.counted.add(coordinate);
  };
  return {
    Field: (node) => {
      const field = typeInfo.getFieldDef();
      if (field && node.arguments?.length) used.fields.set(node, field);
      if (typeInfo.getParentType() === root) used.counted.add(fieldAt());
      for (const scope of scopesOf(schema, typeInfo)) used.scopes.add(scope);
      collectDeprecated(field, fieldAt());
    },
    Argument: ({ name }) => {
      collectDeprecated(typeInfo.getArgument(), `${fieldAt()}(${name.value}:)`);
    },
    ObjectField: ({ name }) => {
      const type = getNamedType(typeInfo.getParentInputType());
      if (!isInputObjectType(type)) return;
      collectDeprecated(type.getFields()[name.value], `${type.name}.${name.value}`);
    },
    EnumValue: ({ value }) => {
      collectDeprecated(
        typeInfo.getEnumValue(),
        `${getNamedType(typeInfo.getInputType())?.name}.${value}`,
      );
    },
  };
}

/** Returns what an operation uses, even in skipped selections. For an invalid document, only `scopes` is right. */
export function findUsage(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  fragments: Fragments,
): Usage {
  const typeInfo = new TypeInfo(schema);
  const used: Usage = {
    counted: new Set(),
    deprecated: new Map(),
    fields: new Map(),
    scopes: new Set(),
  };
  // This set grows during the iteration: the visitor adds the fragments that are spread.
  const definitions = new Set<OperationDefinitionNode | FragmentDefinitionNode>([operation]);
  const visitor = visitWithTypeInfo(typeInfo, {
    ...createVisitor(schema, typeInfo, operation, used),
    FragmentSpread: ({ name }) => {
      const fragment = fragments.get(name.value);
      if (fragment) definitions.add(fragment);
    },
  });
  for (const definition of definitions) visit(definition, visitor);
  return used;
}
