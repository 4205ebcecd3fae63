import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  getOperationAST,
  type GraphQLField,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
} from 'graphql';

import { fragmentsOf } from './accept/document-size.ts';
import type { Estimate } from './accept/field-cost.ts';

const MAX_NAME_LENGTH = 100;

/** The parts of the schema that an operation uses, named by their schema coordinates. */
export interface Usage {
  /** Root fields (such as `Query.node`) and deprecated elements. */
  readonly counted: Set<string>;
  /** The deprecated fields, arguments, input fields and enum values that are used, with their reasons. */
  readonly deprecated: Map<string, string>;
  /** The fields in the document that have arguments, each with its definition in the schema. */
  readonly fields: Map<FieldNode, GraphQLField<unknown, unknown>>;
  /**
   * Whether the operation reads data: through Query or Subscription, or by selecting other rows in a mutation's
   * payload.
   */
  reads: boolean;
}

/** How an operation's estimates are cached. */
export interface Estimates {
  /** Identifies the operation in the cache. */
  readonly id: number;
  /** The variables that the estimates depend on. */
  readonly names: readonly string[];
  /** The estimate, if it does not depend on variables. */
  readonly constant?: Estimate;
}

/** An operation, with the results of its analysis; cached with its document. */
export interface Operation {
  readonly document: DocumentNode;
  readonly node: OperationDefinitionNode;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** The name in logs, traces and metrics, at most 100 characters; undefined for an anonymous operation. */
  readonly name: string | undefined;
  /** The result of usageOf; set by the first call to usageOf. */
  usage?: Usage;
  /** How the results of `estimate` are cached; set by the first call to `estimate`. */
  estimates?: Estimates;
}

const operationsOf = new WeakMap<DocumentNode, Map<string, Operation>>();

/**
 * Returns the operation that a request executes; undefined if the document has no such operation, or has several and
 * the request names none.
 */
export function operationOf(
  document: DocumentNode,
  operationName: string | null | undefined,
): Operation | undefined {
  const key = operationName ?? '';
  const operations = operationsOf.get(document) ?? new Map<string, Operation>();
  const found = operations.get(key);
  if (found) return found;
  const node = getOperationAST(document, operationName);
  if (!node) return undefined;
  const name = node.name?.value.slice(0, MAX_NAME_LENGTH);
  const operation = { document, node, fragments: fragmentsOf(document), name };
  operationsOf.set(document, operations.set(key, operation));
  return operation;
}

/** Creates the function that returns the selections inside a node. It returns those of each fragment only once. */
export function createSelectionsIn({ fragments }: Operation) {
  const spread = new Set<string>();
  return (node: SelectionNode): readonly SelectionNode[] => {
    if (node.kind !== Kind.FRAGMENT_SPREAD) return node.selectionSet?.selections ?? [];
    const name = node.name.value;
    const fragment = spread.has(name) ? undefined : fragments.get(name);
    spread.add(name);
    return fragment?.selectionSet.selections ?? [];
  };
}
