import {
  type ASTVisitor,
  type DocumentNode,
  type FragmentDefinitionNode,
  getNamedType,
  getOperationAST,
  type GraphQLObjectType,
  type GraphQLSchema,
  isInputObjectType,
  type OperationDefinitionNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';

import { fragmentsOf } from './fragments.ts';

/** What an operation uses of the schema, as schema coordinates, each once. */
export interface Usage {
  /** The root fields: `Query.pet`. */
  readonly roots: readonly string[];
  /** Every deprecated field, argument, input field and enum value. */
  readonly deprecated: readonly string[];
}

/** Anything that can be deprecated. */
interface Element {
  readonly deprecationReason?: string | null | undefined;
}

/** Makes what collects, at each node, the part of the schema that it names. */
function createVisitor(
  typeInfo: TypeInfo,
  root: GraphQLObjectType | null | undefined,
  { roots, deprecated }: Record<keyof Usage, Set<string>>,
): ASTVisitor {
  const fieldAt = (): string => `${typeInfo.getParentType()?.name}.${typeInfo.getFieldDef()?.name}`;
  const see = (element: Element | null | undefined, coordinate: string): void => {
    if (element?.deprecationReason != null) deprecated.add(coordinate);
  };
  return {
    Field: () => {
      if (typeInfo.getParentType() === root) roots.add(fieldAt());
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

function walk(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): Usage {
  const typeInfo = new TypeInfo(schema);
  const root = schema.getRootType(operation.operation);
  const used = { roots: new Set<string>(), deprecated: new Set<string>() };
  const fragments = fragmentsOf(document);
  // Grows while it is gone through, by the fragments that are spread.
  const definitions = new Set<OperationDefinitionNode | FragmentDefinitionNode>([operation]);
  const visitor = visitWithTypeInfo(typeInfo, {
    ...createVisitor(typeInfo, root, used),
    FragmentSpread: ({ name }) => {
      const fragment = fragments.get(name.value);
      if (fragment) definitions.add(fragment);
    },
  });
  for (const definition of definitions) visit(definition, visitor);
  return { roots: [...used.roots], deprecated: [...used.deprecated] };
}

const NOTHING: Usage = { roots: [], deprecated: [] };
const known = new WeakMap<OperationDefinitionNode, Usage>();

/**
 * What the chosen operation of a valid document uses of its schema, found once for each document;
 * nothing where no operation can be chosen. What variables hold is not looked at, and what @skip
 * or @include leaves out counts too.
 */
export function usageOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName?: string | null,
): Usage {
  const operation = getOperationAST(document, operationName);
  if (!operation) return NOTHING;
  const usage = known.get(operation) ?? walk(schema, document, operation);
  known.set(operation, usage);
  return usage;
}
