import {
  type DocumentNode,
  type FragmentDefinitionNode,
  getOperationAST,
  type OperationDefinitionNode,
} from 'graphql';

import type { Estimates } from './cost.ts';
import { fragmentsOf } from './document-size.ts';
import type { Usage } from './usage.ts';

const MAX_NAME_LENGTH = 100;

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
