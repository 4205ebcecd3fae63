import {
  type ASTVisitor,
  type FragmentDefinitionNode,
  getNamedType,
  type GraphQLSchema,
  isCompositeType,
  isInputObjectType,
  isIntrospectionType,
  isObjectType,
  type OperationDefinitionNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';

import { fragmentsOf } from './fragments.ts';
import type { Operation } from './operation.ts';

/** The parts of the schema that an operation uses, as schema coordinates, each once. */
export interface Usage {
  /** The root fields: `Query.pet`. */
  readonly roots: readonly string[];
  /** Every deprecated field, argument, input field and enum value. */
  readonly deprecated: readonly string[];
  /** The root fields and the deprecated elements. */
  readonly counted: ReadonlySet<string>;
  /** Whether it reads the store: by Query, or by selecting other rows of a mutation's payload. */
  readonly reads: boolean;
}

/** A Usage that is being collected. */
interface UsageCollection {
  readonly roots: Set<string>;
  readonly deprecated: Set<string>;
  reads: boolean;
}

/** A schema element that can be deprecated. */
interface Element {
  readonly deprecationReason?: string | null | undefined;
}

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    /** Whether its value is from another row; false for the rows that a mutation wrote. */
    readonly ofOtherRow?: boolean;
  }
}

/** Whether a field reads the store: it is a field of Query, or leads from a row to other rows. */
function readsStore(schema: GraphQLSchema, typeInfo: TypeInfo): boolean {
  const parent = typeInfo.getParentType();
  const field = typeInfo.getFieldDef();
  if (!parent || !field || field.name.startsWith('__') || isIntrospectionType(parent)) return false;
  const { ofOtherRow } = field.extensions;
  if (parent === schema.getQueryType() || ofOtherRow) return true;
  if (ofOtherRow === false || parent === schema.getMutationType()) return false;
  if (!isCompositeType(getNamedType(field.type))) return false;
  // The fields of an error are part of the error.
  return !isObjectType(parent) || parent.getInterfaces().every(({ name }) => name !== 'Error');
}

/** Creates a visitor that collects the schema elements of each node. */
function createVisitor(
  schema: GraphQLSchema,
  typeInfo: TypeInfo,
  operation: OperationDefinitionNode,
  used: UsageCollection,
): ASTVisitor {
  const root = schema.getRootType(operation.operation);
  const fieldAt = (): string => `${typeInfo.getParentType()?.name}.${typeInfo.getFieldDef()?.name}`;
  const collectDeprecated = (element: Element | null | undefined, coordinate: string): void => {
    if (element?.deprecationReason != null) used.deprecated.add(coordinate);
  };
  return {
    Field: () => {
      if (typeInfo.getParentType() === root) used.roots.add(fieldAt());
      used.reads ||= readsStore(schema, typeInfo);
      collectDeprecated(typeInfo.getFieldDef(), fieldAt());
    },
    Argument: ({ name }) => {
      const directive = typeInfo.getDirective();
      collectDeprecated(
        typeInfo.getArgument(),
        `${directive ? `@${directive.name}` : fieldAt()}(${name.value}:)`,
      );
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

function findUsage(schema: GraphQLSchema, { document, node: operation }: Operation): Usage {
  const typeInfo = new TypeInfo(schema);
  const used: UsageCollection = { roots: new Set(), deprecated: new Set(), reads: false };
  const fragments = fragmentsOf(document);
  // Grows while it is iterated: the visitor adds the fragments that are spread.
  const definitions = new Set<OperationDefinitionNode | FragmentDefinitionNode>([operation]);
  const visitor = visitWithTypeInfo(typeInfo, {
    ...createVisitor(schema, typeInfo, operation, used),
    FragmentSpread: ({ name }) => {
      const fragment = fragments.get(name.value);
      if (fragment) definitions.add(fragment);
    },
  });
  for (const definition of definitions) visit(definition, visitor);
  return {
    roots: [...used.roots],
    deprecated: [...used.deprecated],
    counted: new Set([...used.roots, ...used.deprecated]),
    reads: used.reads,
  };
}

/**
 * Returns what an operation of a valid document uses of the schema. It ignores the values of variables,
 * and includes selections that @skip or @include leave out.
 */
export const usageOf = (schema: GraphQLSchema, operation: Operation): Usage =>
  (operation.usage ??= findUsage(schema, operation));
