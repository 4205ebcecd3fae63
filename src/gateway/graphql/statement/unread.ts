import { shouldIncludeNode } from '@graphql-tools/utils';
import { type FieldNode, Kind, type SelectionSetNode } from 'graphql';

import type { Variables } from '../analysis/field-cost.ts';
import type { Operation } from '../analysis/operation.ts';

/**
 * Whether a field with arguments was not read, because it is in a fragment on a type that does not occur there. An
 * invalid argument must be found nonetheless.
 */
export function hasUnread(
  { node, fragments }: Operation,
  variables: Variables,
  read: ReadonlySet<FieldNode>,
): boolean {
  const spread = new Set<string>();
  const hasOne = ({ selections }: SelectionSetNode): boolean =>
    selections.some((selection) => {
      if (!shouldIncludeNode(variables, selection)) return false;
      if (selection.kind === Kind.FIELD && selection.arguments?.length && !read.has(selection)) {
        return true;
      }
      if (selection.kind !== Kind.FRAGMENT_SPREAD) {
        return selection.selectionSet !== undefined && hasOne(selection.selectionSet);
      }
      const name = selection.name.value;
      const fragment = spread.has(name) ? undefined : fragments.get(name);
      spread.add(name);
      return fragment !== undefined && hasOne(fragment.selectionSet);
    });
  return hasOne(node.selectionSet);
}
