import { shouldIncludeNode } from '@graphql-tools/utils';
import {
  doTypesOverlap,
  type ExecutionResult,
  type FieldNode,
  type FragmentDefinitionNode,
  type FragmentSpreadNode,
  getArgumentValues,
  getNamedType,
  getVariableValues,
  type GraphQLCompositeType,
  GraphQLError,
  type GraphQLField,
  type GraphQLSchema,
  type InlineFragmentNode,
  isCompositeType,
  isObjectType,
  Kind,
  type NamedTypeNode,
  type SelectionNode,
  type SelectionSetNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';

import { StoreError } from '../../contract/errors.ts';
import { fragmentsOf } from '../analysis/fragments.ts';
import type { Operation } from '../analysis/operation.ts';
import { MAX_VALIDATION_ERRORS } from '../analysis/validation.ts';
import { toExecutionError } from '../errors.ts';
import type { Call } from './call.ts';

/** The fields of a document that have arguments, and its fragments. */
interface Checks {
  readonly schema: GraphQLSchema;
  readonly fields: ReadonlyMap<FieldNode, GraphQLField<unknown, unknown>>;
  /** The types of the fields that have selections. */
  readonly types: ReadonlyMap<SelectionSetNode, GraphQLCompositeType>;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** Whether anything can be wrong: a field has arguments, or a selection has a condition. */
  readonly isNeeded: boolean;
}

function findChecks(schema: GraphQLSchema, { document }: Operation): Checks {
  const fields = new Map<FieldNode, GraphQLField<unknown, unknown>>();
  const types = new Map<SelectionSetNode, GraphQLCompositeType>();
  let hasConditions = false;
  const typeInfo = new TypeInfo(schema);
  const visitor = visitWithTypeInfo(typeInfo, {
    Field: (node) => {
      const field = typeInfo.getFieldDef();
      if (field && node.arguments?.length) fields.set(node, field);
      const type = field && getNamedType(field.type);
      if (node.selectionSet && isCompositeType(type)) types.set(node.selectionSet, type);
    },
    Directive: () => {
      hasConditions = true;
    },
  });
  visit(document, visitor);
  const fragments = fragmentsOf(document);
  return { schema, fields, types, fragments, isNeeded: fields.size > 0 || hasConditions };
}

/** Checks what an operation selects with some variables. */
class ArgumentCheck {
  readonly errors: GraphQLError[] = [];
  // A field of a fragment can be reached on several types.
  readonly #checked = new Set<FieldNode>();
  readonly #walked = new Set<string>();

  readonly #checks: Checks;
  readonly #variables: Record<string, unknown>;
  readonly #maxPage: number;

  constructor(checks: Checks, variables: Record<string, unknown>, maxPage: number) {
    this.#checks = checks;
    this.#variables = variables;
    this.#maxPage = maxPage;
  }

  /** Checks selections on a type; `spread` has the fragments that are spread in them before. */
  walk(
    { selections }: SelectionSetNode,
    type: GraphQLCompositeType | undefined,
    spread = new Set<string>(),
  ): void {
    for (const node of selections) {
      // graphql-js does not look at a fragment that it has collected already.
      if (node.kind === Kind.FRAGMENT_SPREAD && spread.has(node.name.value)) continue;
      if (!this.#try(node, () => shouldIncludeNode(this.#variables, node))) continue;
      if (node.kind === Kind.FIELD) this.#enterField(node);
      else this.#enterFragment(node, type, spread);
    }
  }

  #enterField(node: FieldNode): void {
    this.#check(node);
    const { selectionSet } = node;
    if (selectionSet) this.walk(selectionSet, this.#checks.types.get(selectionSet));
  }

  #enterFragment(
    node: FragmentSpreadNode | InlineFragmentNode,
    outer: GraphQLCompositeType | undefined,
    spread: Set<string>,
  ): void {
    const isSpread = node.kind === Kind.FRAGMENT_SPREAD;
    if (isSpread) spread.add(node.name.value);
    const fragment = isSpread ? this.#checks.fragments.get(node.name.value) : node;
    const type = this.#narrow(outer, fragment?.typeCondition);
    if (!fragment || !type) return;
    // Once, as fragments that are spread in each other would be walked an exponential number of times.
    const key = isSpread ? `${node.name.value} ${type.name}` : undefined;
    if (key !== undefined && this.#walked.has(key)) return;
    if (key !== undefined) this.#walked.add(key);
    this.walk(fragment.selectionSet, type, spread);
  }

  /** Returns the type of the objects that a fragment selects from; undefined if it selects from none. */
  #narrow(
    outer: GraphQLCompositeType | undefined,
    condition: NamedTypeNode | undefined,
  ): GraphQLCompositeType | undefined {
    const { schema } = this.#checks;
    const inner = condition ? schema.getType(condition.name.value) : outer;
    if (!outer || !isCompositeType(inner) || !doTypesOverlap(schema, outer, inner))
      return undefined;
    return isObjectType(outer) ? outer : inner;
  }

  #check(node: FieldNode): void {
    const field = this.#checks.fields.get(node);
    if (!field || this.#checked.has(node) || this.errors.length === MAX_VALIDATION_ERRORS) return;
    this.#checked.add(node);
    this.#try(node, () => {
      const args = getArgumentValues(field, node, this.#variables);
      field.extensions.checkArguments?.(args, this.#maxPage);
    });
  }

  /** Returns the result of a check; undefined if it finds an error. */
  #try<Result>(node: SelectionNode, check: () => Result): Result | undefined {
    try {
      return check();
    } catch (error) {
      if (error instanceof GraphQLError) this.errors.push(error);
      else if (error instanceof StoreError) this.errors.push(toExecutionError(error, node));
      else throw error;
      return undefined;
    }
  }
}

/**
 * Rejects an operation before any of it runs if one of its pages, cursors or ids cannot be, or if a
 * variable is null where null may not stand: a write must not lose its result, nor good fields theirs, to
 * a mistake that is known before. The errors have no path, as there is no result.
 */
export function checkArguments<Result>(
  next: (call: Call) => Result,
  maxPage: number,
): (call: Call) => Result | ExecutionResult {
  const known = new WeakMap<Operation, Checks>();

  const checksOf = ({ schema, operation }: Call): Checks => {
    const checks = known.get(operation) ?? findChecks(schema, operation);
    known.set(operation, checks);
    return checks;
  };

  const findErrors = (call: Call, checks: Checks): readonly GraphQLError[] => {
    const { schema, operation, variables } = call;
    const { variableDefinitions = [] } = operation.node;
    const { coerced } = getVariableValues(schema, variableDefinitions, variables, { maxErrors: 1 });
    // graphql-js reports the errors of variables.
    if (!coerced) return [];
    const check = new ArgumentCheck(checks, coerced, maxPage);
    check.walk(
      operation.node.selectionSet,
      schema.getRootType(operation.node.operation) ?? undefined,
    );
    return check.errors;
  };

  return (call) => {
    const checks = checksOf(call);
    const errors = checks.isNeeded ? findErrors(call, checks) : [];
    return errors.length > 0 ? { errors } : next(call);
  };
}
