import {
  type DocumentNode,
  type FieldNode,
  Kind,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql';

import { fragmentsOf } from './fragments.ts';

/** Returns how many values a value consists of. */
function sizeOf(value: ValueNode): number {
  if (value.kind === Kind.LIST) return value.values.reduce((sum, part) => sum + sizeOf(part), 1);
  if (value.kind !== Kind.OBJECT) return 1;
  return value.fields.reduce((sum, field) => sum + sizeOf(field.value), 1);
}

/** Fields that are merged, as they have the same response key. */
interface Merged {
  count: number;
  readonly inside: SelectionSetNode[];
}

/**
 * Counts what takes validation longest, with fragments where they are spread: each selection, each value of
 * its arguments, and each pair of fields that are merged, as validation compares all pairs. It stops beyond
 * `max`, and at `maxDepth`, as a fragment may spread itself.
 */
export function countComparisons(document: DocumentNode, max: number, maxDepth: number): number {
  const fragments = fragmentsOf(document);
  const reached = new Set<SelectionSetNode>();
  let total = 0;

  const addField = (field: FieldNode, merged: Map<string, Merged>): void => {
    const key = (field.alias ?? field.name).value;
    const others = merged.get(key) ?? { count: 0, inside: [] };
    total += others.count;
    for (const { value } of field.arguments ?? []) total += sizeOf(value);
    others.count += 1;
    if (field.selectionSet) others.inside.push(field.selectionSet);
    merged.set(key, others);
  };

  /** Merges the fields of selection sets, in which each fragment counts once. */
  const merge = (sets: readonly SelectionSetNode[], depth: number): void => {
    const merged = new Map<string, Merged>();
    // Grows while it is iterated.
    const open = new Set(sets);
    for (const set of open) {
      reached.add(set);
      for (const node of set.selections) {
        total += 1;
        if (total > max) return;
        if (node.kind === Kind.FIELD) addField(node, merged);
        const spread = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node;
        if (node.kind !== Kind.FIELD && spread?.selectionSet) open.add(spread.selectionSet);
      }
    }
    if (depth === maxDepth) return;
    for (const { inside } of merged.values()) if (inside.length > 0) merge(inside, depth + 1);
  };

  for (const node of document.definitions) {
    if (node.kind === Kind.OPERATION_DEFINITION) merge([node.selectionSet], 1);
  }
  // Validation compares the fields of fragments that no operation spreads too.
  for (const { selectionSet } of fragments.values()) {
    if (!reached.has(selectionSet)) merge([selectionSet], 1);
  }
  return total;
}
