import {
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
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
 * Makes what adds up the selections of a set: what `ofField` makes of what is inside a field, joined
 * to the rest. A fragment is added up once, however often it is spread: documents can spread them so
 * that going through each spread would never end. One inside itself counts nothing there.
 */
export function createFold(
  document: DocumentNode,
  ofField: (inside: number) => number,
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
      const inside = fold(spread?.selectionSet);
      sum = join(sum, node.kind === Kind.FIELD ? ofField(inside) : inside);
    }
    known.set(set, sum);
    return sum;
  };
  return fold;
}

/** Joins by adding. */
export const add = (sum: number, next: number): number => sum + next;
