import { shouldIncludeNode } from '@graphql-tools/utils';
import {
  type ExecutionResult,
  type FieldNode,
  type FragmentDefinitionNode,
  getArgumentValues,
  getVariableValues,
  GraphQLError,
  type GraphQLField,
  type GraphQLSchema,
  Kind,
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
import type { Call, Execute } from './call.ts';

/** The fields of a document that have arguments, and its fragments. */
interface Checks {
  readonly fields: ReadonlyMap<FieldNode, GraphQLField<unknown, unknown>>;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** Whether anything can be wrong: a field has arguments, or a selection has a condition. */
  readonly isNeeded: boolean;
}

function findChecks(schema: GraphQLSchema, { document }: Operation): Checks {
  const fields = new Map<FieldNode, GraphQLField<unknown, unknown>>();
  let hasConditions = false;
  const typeInfo = new TypeInfo(schema);
  const visitor = visitWithTypeInfo(typeInfo, {
    Field: (node) => {
      const field = typeInfo.getFieldDef();
      if (field && node.arguments?.length) fields.set(node, field);
    },
    Directive: () => {
      hasConditions = true;
    },
  });
  visit(document, visitor);
  return { fields, fragments: fragmentsOf(document), isNeeded: fields.size > 0 || hasConditions };
}

/** Checks what an operation selects with some variables. */
class ArgumentCheck {
  readonly errors: GraphQLError[] = [];
  readonly #walked = new Set<string>();

  readonly #checks: Checks;
  readonly #variables: Record<string, unknown>;
  readonly #maxPage: number;

  constructor(checks: Checks, variables: Record<string, unknown>, maxPage: number) {
    this.#checks = checks;
    this.#variables = variables;
    this.#maxPage = maxPage;
  }

  /** Checks selections; `spread` has the fragments that are spread in them before. */
  walk({ selections }: SelectionSetNode, spread = new Set<string>()): void {
    for (const node of selections) {
      // graphql-js does not look at a fragment that it has collected already.
      if (node.kind === Kind.FRAGMENT_SPREAD && spread.has(node.name.value)) continue;
      if (this.#try(node, () => shouldIncludeNode(this.#variables, node)))
        this.#enter(node, spread);
    }
  }

  #enter(node: SelectionNode, spread: Set<string>): void {
    if (node.kind === Kind.INLINE_FRAGMENT) this.walk(node.selectionSet, spread);
    if (node.kind === Kind.FIELD) {
      this.#check(node);
      if (node.selectionSet) this.walk(node.selectionSet);
    }
    if (node.kind !== Kind.FRAGMENT_SPREAD) return;
    const name = node.name.value;
    spread.add(name);
    const fragment = this.#checks.fragments.get(name);
    // Once, as fragments that are spread in each other would be walked an exponential number of times.
    if (fragment && !this.#walked.has(name)) {
      this.#walked.add(name);
      this.walk(fragment.selectionSet, spread);
    }
  }

  #check(node: FieldNode): void {
    const field = this.#checks.fields.get(node);
    if (!field || this.errors.length === MAX_VALIDATION_ERRORS) return;
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
export function checkArguments(next: Execute, maxPage: number): Execute {
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
    check.walk(operation.node.selectionSet);
    return check.errors;
  };

  return (call): ExecutionResult | Promise<ExecutionResult> => {
    const checks = checksOf(call);
    const errors = checks.isNeeded ? findErrors(call, checks) : [];
    return errors.length > 0 ? { errors } : next(call);
  };
}
