import { shouldIncludeNode } from '@graphql-tools/utils';
import { type FieldNode, Kind, type SelectionNode } from 'graphql';

import type { Variables } from '../accept/field-cost.ts';
import { createSelectionsIn, type Operation } from '../operation.ts';

/**
 * Whether a field with arguments was not read, because it is in a fragment on a type that does not occur there. An
 * invalid argument must be found nonetheless.
 */
export function hasUnread(
  operation: Operation,
  variables: Variables,
  read: ReadonlySet<FieldNode>,
): boolean {
  const selectionsIn = createSelectionsIn(operation);
  const isUnread = (node: SelectionNode): boolean => {
    if (!shouldIncludeNode(variables, node)) return false;
    const isField = node.kind === Kind.FIELD && node.arguments?.length;
    return (isField && !read.has(node)) || selectionsIn(node).some(isUnread);
  };
  return operation.node.selectionSet.selections.some(isUnread);
}
