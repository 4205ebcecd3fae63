import {
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';

/** The fragments of a document by their names. */
export const fragmentsOf = ({ definitions }: DocumentNode): Map<string, FragmentDefinitionNode> =>
  new Map(
    definitions
      .filter((node) => node.kind === Kind.FRAGMENT_DEFINITION)
      .map((node) => [node.name.value, node]),
  );

/**
 * Creates a function that measures a selection set: `ofSelection` measures one selection, given what
 * is inside it, and `join` combines the selections of a set. Each fragment is measured once, however
 * often it is spread, because documents can nest spreads so that following each would never end. A
 * fragment counts as nothing inside itself.
 */
export function createFold(
  document: DocumentNode,
  ofSelection: (selection: SelectionNode, inside: number) => number,
  join: (sum: number, next: number) => number,
): (set?: SelectionSetNode) => number {
  const fragments = fragmentsOf(document);
  const known = new Map<SelectionSetNode, number>();
  const fold = (set?: SelectionSetNode): number => {
    if (!set) return 0;
    const before = known.get(set);
    if (before !== undefined) return before;
    known.set(set, 0);
    let sum = 0;
    for (const node of set.selections) {
      const spread = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node;
      sum = join(sum, ofSelection(node, fold(spread?.selectionSet)));
    }
    known.set(set, sum);
    return sum;
  };
  return fold;
}

/** Joins by adding. */
export const add = (sum: number, next: number): number => sum + next;
