import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
  type ValueNode,
  visit,
} from 'graphql';

import type { Limits } from '../../config/config.ts';
import { MAX_LIST_SIZE } from '../../contract/parse.ts';

// These factors set limits far above the size of real documents. A document within all limits is validated in less than
// 20 ms.
const SPREADS_PER_FRAGMENT = 6;
const COMPARISONS_PER_TOKEN = 2;

/** The fragments of a document, by their names. */
export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

export const fragmentsOf = ({ definitions }: DocumentNode): Fragments =>
  new Map(
    definitions
      .filter((node) => node.kind === Kind.FRAGMENT_DEFINITION)
      .map((node) => [node.name.value, node]),
  );

/** Creates the function that returns the selections inside a node. It returns those of each fragment only once. */
export function createSelectionsIn(fragments: Fragments) {
  const spread = new Set<string>();
  return (node: SelectionNode): readonly SelectionNode[] => {
    if (node.kind !== Kind.FRAGMENT_SPREAD) return node.selectionSet?.selections ?? [];
    const name = node.name.value;
    const fragment = spread.has(name) ? undefined : fragments.get(name);
    spread.add(name);
    return fragment?.selectionSet.selections ?? [];
  };
}

function sizeOf(value: ValueNode): number {
  if (value.kind === Kind.LIST) return value.values.reduce((sum, part) => sum + sizeOf(part), 1);
  if (value.kind !== Kind.OBJECT) return 1;
  return value.fields.reduce((sum, field) => sum + sizeOf(field.value), 1);
}

/** Fields with the same response key, which are merged. */
interface Merged {
  count: number;
  readonly inside: SelectionSetNode[];
}

/**
 * Counts the work that dominates validation: each selection, each value in its arguments, and each pair of fields that
 * are merged, because validation compares all pairs. A fragment counts in each place where it is spread. Stops above
 * `max`, and below `maxDepth`, because a fragment may spread itself. Also returns the highest number of root fields, and of
 * levels of fields.
 */
function countComparisons(document: DocumentNode, max: number, maxDepth: number) {
  const fragments = fragmentsOf(document);
  const reached = new Set<SelectionSetNode>();
  let total = 0;
  let rootFields = 0;
  let levels = 0;

  const addField = (field: FieldNode, merged: Map<string, Merged>): void => {
    const key = (field.alias ?? field.name).value;
    const others = merged.get(key) ?? { count: 0, inside: [] };
    total += others.count;
    for (const { value } of field.arguments ?? []) total += sizeOf(value);
    others.count += 1;
    if (field.selectionSet) others.inside.push(field.selectionSet);
    merged.set(key, others);
  };

  /**
   * Merges the fields of selection sets in the same place, and returns their number. A fragment that is spread there
   * repeatedly counts once.
   */
  const merge = (sets: readonly SelectionSetNode[], depth: number): number => {
    const merged = new Map<string, Merged>();
    // The sets, and how often their selections count: once, and again for each inline fragment around them, so that these
    // can't nest too deeply. This map grows during the iteration.
    const open = new Map(sets.map((set) => [set, 1]));
    let fields = 0;
    levels = Math.max(levels, depth);
    for (const [set, times] of open) {
      reached.add(set);
      for (const node of set.selections) {
        total += times;
        if (total > max) return fields;
        if (node.kind === Kind.FIELD) {
          fields += 1;
          addField(node, merged);
        }
        if (node.kind === Kind.INLINE_FRAGMENT) open.set(node.selectionSet, times + 1);
        const spread = node.kind === Kind.FRAGMENT_SPREAD && fragments.get(node.name.value);
        if (spread && !open.has(spread.selectionSet)) open.set(spread.selectionSet, 1);
      }
    }
    if (depth > maxDepth) return fields;
    for (const { inside } of merged.values()) if (inside.length > 0) merge(inside, depth + 1);
    return fields;
  };

  for (const node of document.definitions) {
    if (node.kind !== Kind.OPERATION_DEFINITION) continue;
    rootFields = Math.max(rootFields, merge([node.selectionSet], 1));
  }
  // Validation also compares the fields of fragments that no operation spreads.
  for (const { selectionSet } of fragments.values()) {
    if (!reached.has(selectionSet)) merge([selectionSet], 1);
  }
  return { total, rootFields, levels };
}

/** Counts the nodes that are slow to validate or execute, and measures the longest list and string. */
function countNodes(document: DocumentNode) {
  const counts = { aliases: 0, directives: 0, fragments: 0, spreads: 0, values: 0, characters: 0 };
  visit(document, {
    enter: (node) => {
      if (node.kind === Kind.FIELD && node.alias) counts.aliases += 1;
      if (node.kind === Kind.DIRECTIVE) counts.directives += 1;
      if (node.kind === Kind.FRAGMENT_DEFINITION) counts.fragments += 1;
      if (node.kind === Kind.FRAGMENT_SPREAD) counts.spreads += 1;
      if (node.kind === Kind.LIST) counts.values = Math.max(counts.values, node.values.length);
      if (node.kind === Kind.STRING) {
        counts.characters = Math.max(counts.characters, node.value.length);
      }
    },
  });
  return counts;
}

/** Yields each measure of a document with its limit, starting with the cheapest. */
export function* measureDocument(
  document: DocumentNode,
  limits: Limits,
): Generator<[count: number, max: number, unit: string]> {
  const { maxDepth, maxTokens } = limits;
  const counts = countNodes(document);
  yield [counts.aliases, limits.maxAliases, 'aliases'];
  yield [counts.directives, limits.maxDirectives, 'directives'];
  yield [counts.fragments, limits.maxFragments, 'fragments'];
  // Validation compares each pair of fragments that are spread in the same place.
  yield [counts.spreads, SPREADS_PER_FRAGMENT * limits.maxFragments, 'fragment spreads'];
  yield [counts.values, MAX_LIST_SIZE, 'values in a list'];
  yield [counts.characters, limits.maxTextLength, 'characters in a string'];
  const max = COMPARISONS_PER_TOKEN * maxTokens;
  const { total, rootFields, levels } = countComparisons(document, max, maxDepth);
  yield [levels, maxDepth, 'levels of fields'];
  yield [rootFields, limits.maxRootFields, 'root fields'];
  yield [
    total,
    max,
    'selections, values and pairs of fields to merge, counting a fragment in each place where it is spread',
  ];
}
