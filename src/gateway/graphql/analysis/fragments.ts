import {
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';

/** Returns the fragments of a document by their names. */
export const fragmentsOf = ({ definitions }: DocumentNode): Map<string, FragmentDefinitionNode> =>
  new Map(
    definitions
      .filter((node) => node.kind === Kind.FRAGMENT_DEFINITION)
      .map((node) => [node.name.value, node]),
  );

/**
 * Creates a function that measures a selection set: `ofSelection` measures one selection from the
 * measure of its own selection set, and `combine` combines the selections of a set. Each fragment is
 * measured once, because nested spreads can expand to an exponential number of selections. Inside itself
 * a fragment measures 0.
 */
export function createFold(
  document: DocumentNode,
  ofSelection: (selection: SelectionNode, inside: number) => number,
  combine: (total: number, next: number) => number,
): (set?: SelectionSetNode) => number {
  const fragments = fragmentsOf(document);
  const known = new Map<SelectionSetNode, number>();
  const fold = (set?: SelectionSetNode): number => {
    if (!set) return 0;
    const before = known.get(set);
    if (before !== undefined) return before;
    known.set(set, 0);
    let total = 0;
    for (const node of set.selections) {
      const spread = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node;
      total = combine(total, ofSelection(node, fold(spread?.selectionSet)));
    }
    known.set(set, total);
    return total;
  };
  return fold;
}

/** Combines by adding. */
export const sum = (total: number, next: number): number => total + next;
