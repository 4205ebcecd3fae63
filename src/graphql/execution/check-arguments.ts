import { shouldIncludeNode } from '@graphql-tools/utils';
import {
  type ExecutionResult,
  type FieldNode,
  type FragmentDefinitionNode,
  getArgumentValues,
  getVariableValues,
  type GraphQLError,
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

/** The fields of a document whose arguments can be checked, and its fragments. */
interface Checks {
  readonly fields: ReadonlyMap<FieldNode, GraphQLField<unknown, unknown>>;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
}

function findChecks(schema: GraphQLSchema, { document }: Operation): Checks {
  const fields = new Map<FieldNode, GraphQLField<unknown, unknown>>();
  const typeInfo = new TypeInfo(schema);
  const visitor = visitWithTypeInfo(typeInfo, {
    Field: (node) => {
      const field = typeInfo.getFieldDef();
      if (field?.extensions.checkArguments && node.arguments?.length) fields.set(node, field);
    },
  });
  visit(document, visitor);
  return { fields, fragments: fragmentsOf(document) };
}

/** A selected field whose arguments can be checked. */
interface Selected {
  readonly field: GraphQLField<unknown, unknown>;
  readonly node: FieldNode;
}

/** Returns the fields that an operation selects with these variables and whose arguments can be checked. */
function selectedFields(
  { fields, fragments }: Checks,
  { node: operation }: Operation,
  variables: Record<string, unknown>,
): Selected[] {
  const selected: Selected[] = [];
  const spread = new Set<string>();
  const collect = ({ selections }: SelectionSetNode): void => {
    for (const node of selections) {
      if (!isIncluded(variables, node)) continue;
      const field = node.kind === Kind.FIELD ? fields.get(node) : undefined;
      if (field && node.kind === Kind.FIELD) selected.push({ field, node });
      if (node.kind !== Kind.FRAGMENT_SPREAD) {
        if (node.selectionSet) collect(node.selectionSet);
        continue;
      }
      const fragment = spread.has(node.name.value) ? undefined : fragments.get(node.name.value);
      spread.add(node.name.value);
      if (fragment) collect(fragment.selectionSet);
    }
  };
  collect(operation.selectionSet);
  return selected;
}

/** Returns the error of the arguments of a field, if they have one. */
function findError(
  { field, node }: Selected,
  variables: Record<string, unknown>,
  maxPage: number,
): StoreError | undefined {
  try {
    field.extensions.checkArguments?.(getArgumentValues(field, node, variables), maxPage);
    return undefined;
  } catch (error) {
    // Any other error is one that graphql-js finds too, and reports.
    return error instanceof StoreError ? error : undefined;
  }
}

/** Whether a selection is included; also if its condition is null, which graphql-js reports. */
function isIncluded(variables: Record<string, unknown>, node: SelectionNode): boolean {
  try {
    return shouldIncludeNode(variables, node);
  } catch {
    return true;
  }
}

/**
 * Rejects an operation before any of it runs if one of its pages, cursors or ids cannot be: a write
 * must not lose its result, nor good fields theirs, to a mistake that is known before. The errors have
 * no path, as there is no result.
 */
export function checkArguments(next: Execute, maxPage: number): Execute {
  const known = new WeakMap<Operation, Checks>();

  const checksOf = ({ schema, operation }: Call): Checks => {
    const checks = known.get(operation) ?? findChecks(schema, operation);
    known.set(operation, checks);
    return checks;
  };

  const findErrors = (call: Call, checks: Checks): GraphQLError[] => {
    const { schema, operation, variables } = call;
    const { variableDefinitions = [] } = operation.node;
    const { coerced } = getVariableValues(schema, variableDefinitions, variables, { maxErrors: 1 });
    const errors: GraphQLError[] = [];
    // graphql-js reports the errors of variables.
    if (!coerced) return errors;
    for (const selected of selectedFields(checks, operation, coerced)) {
      const error = findError(selected, coerced, maxPage);
      if (error) errors.push(toExecutionError(error, selected.node));
      if (errors.length === MAX_VALIDATION_ERRORS) break;
    }
    return errors;
  };

  return (call): ExecutionResult | Promise<ExecutionResult> => {
    const checks = checksOf(call);
    const errors = checks.fields.size > 0 ? findErrors(call, checks) : [];
    return errors.length > 0 ? { errors } : next(call);
  };
}
