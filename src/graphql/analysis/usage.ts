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

/** What an operation uses of the schema, as schema coordinates, each once. */
export interface Usage {
  /** The root fields: `Query.pet`. */
  readonly roots: readonly string[];
  /** Every deprecated field, argument, input field and enum value. */
  readonly deprecated: readonly string[];
  /** Whether it reads the store; of what a mutation answers, other rows than the one it is about. */
  readonly reads: boolean;
}

/** A Usage while it is collected. */
interface Used {
  readonly roots: Set<string>;
  readonly deprecated: Set<string>;
  reads: boolean;
}

/** Anything that can be deprecated. */
interface Element {
  readonly deprecationReason?: string | null | undefined;
}

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    /** Whether its value is one of another row. */
    readonly ofOtherRow?: boolean;
  }
}

/** Whether a field reads the store: one of Query, and one that leads from a row to others. */
function readsStore(schema: GraphQLSchema, typeInfo: TypeInfo): boolean {
  const parent = typeInfo.getParentType();
  const field = typeInfo.getFieldDef();
  if (!parent || !field || field.name.startsWith('__') || isIntrospectionType(parent)) return false;
  if (parent === schema.getQueryType() || field.extensions.ofOtherRow) return true;
  if (parent === schema.getMutationType() || !isCompositeType(getNamedType(field.type)))
    return false;
  // What an error tells is its own.
  return !isObjectType(parent) || parent.getInterfaces().every(({ name }) => name !== 'Error');
}

/** Makes what collects, at each node, the part of the schema that it names. */
function createVisitor(
  schema: GraphQLSchema,
  typeInfo: TypeInfo,
  operation: OperationDefinitionNode,
  used: Used,
): ASTVisitor {
  const root = schema.getRootType(operation.operation);
  const fieldAt = (): string => `${typeInfo.getParentType()?.name}.${typeInfo.getFieldDef()?.name}`;
  const see = (element: Element | null | undefined, coordinate: string): void => {
    if (element?.deprecationReason != null) used.deprecated.add(coordinate);
  };
  return {
    Field: () => {
      if (typeInfo.getParentType() === root) used.roots.add(fieldAt());
      used.reads ||= readsStore(schema, typeInfo);
      see(typeInfo.getFieldDef(), fieldAt());
    },
    Argument: ({ name }) => {
      const directive = typeInfo.getDirective();
      see(
        typeInfo.getArgument(),
        `${directive ? `@${directive.name}` : fieldAt()}(${name.value}:)`,
      );
    },
    ObjectField: ({ name }) => {
      const type = getNamedType(typeInfo.getParentInputType());
      if (!isInputObjectType(type)) return;
      see(type.getFields()[name.value], `${type.name}.${name.value}`);
    },
    EnumValue: ({ value }) => {
      see(typeInfo.getEnumValue(), `${getNamedType(typeInfo.getInputType())?.name}.${value}`);
    },
  };
}

function findUsage(schema: GraphQLSchema, { document, node: operation }: Operation): Usage {
  const typeInfo = new TypeInfo(schema);
  const used: Used = { roots: new Set(), deprecated: new Set(), reads: false };
  const fragments = fragmentsOf(document);
  // Grows while it is gone through, by the fragments that are spread.
  const definitions = new Set<OperationDefinitionNode | FragmentDefinitionNode>([operation]);
  const visitor = visitWithTypeInfo(typeInfo, {
    ...createVisitor(schema, typeInfo, operation, used),
    FragmentSpread: ({ name }) => {
      const fragment = fragments.get(name.value);
      if (fragment) definitions.add(fragment);
    },
  });
  for (const definition of definitions) visit(definition, visitor);
  return { roots: [...used.roots], deprecated: [...used.deprecated], reads: used.reads };
}

/**
 * Returns what an operation of a valid document uses of its schema. The values of variables are not
 * looked at, and what @skip or @include leaves out counts too.
 */
export const usageOf = (schema: GraphQLSchema, operation: Operation): Usage =>
  (operation.usage ??= findUsage(schema, operation));
