import { type DocumentNode, getOperationAST, type OperationDefinitionNode } from 'graphql';

import type { Estimates } from './estimate.ts';
import type { Usage } from './usage.ts';

const MAX_NAME = 100;

/** What is known of an operation, for as long as its document is kept. */
export interface Operation {
  readonly document: DocumentNode;
  readonly node: OperationDefinitionNode;
  /** Its name for logs and traces, at most 100 characters; undefined if it has none. */
  readonly name: string | undefined;
  /** Found by usageOf when it is first needed. */
  usage?: Usage;
  /** Filled by estimate, for each combination of variables that it depends on. */
  estimates?: Estimates;
}

const known = new WeakMap<DocumentNode, Map<string, Operation>>();

/** Returns the operation of a document that a request chose; undefined if it has no such operation. */
export function operationOf(
  document: DocumentNode,
  operationName: string | null | undefined,
): Operation | undefined {
  const key = operationName ?? '';
  const operations = known.get(document) ?? new Map<string, Operation>();
  const found = operations.get(key);
  if (found) return found;
  const node = getOperationAST(document, operationName);
  if (!node) return undefined;
  const operation = { document, node, name: node.name?.value.slice(0, MAX_NAME) };
  known.set(document, operations.set(key, operation));
  return operation;
}
