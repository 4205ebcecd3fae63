import {
  type DocumentNode,
  type FieldNode,
  type FragmentSpreadNode,
  type GraphQLError,
  type GraphQLSchema,
  Kind,
  NoSchemaIntrospectionCustomRule,
  parse,
  type SelectionSetNode,
  type Source,
  specifiedRules,
  validate,
  visit,
} from 'graphql';

import type { Config, Limits } from '../../config/config.ts';
import { StoreError } from '../../contract/errors.ts';
import { toExecutionError } from '../errors.ts';
import { countComparisons } from './comparisons.ts';
import { createFold, sum } from './fragments.ts';

/** How many errors a document, or its variables, can get. */
export const MAX_VALIDATION_ERRORS = 5;

// Far more than real documents have. With the default limits, validation takes less than 20 ms.
const SPREADS_PER_FRAGMENT = 6;
const COMPARISONS_PER_TOKEN = 2;

/** The error of a document that has too much of something. */
const documentTooLarge = (max: number, unit: string): StoreError =>
  new StoreError('DOCUMENT_TOO_LARGE', `The document must have at most ${max} ${unit}.`);

/** Runs recursive work on a document; a deep document may exceed the stack. @throws StoreError */
function withinStack<Result>(recurse: () => Result): Result {
  try {
    return recurse();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new StoreError('DOCUMENT_TOO_LARGE', 'The document is nested too deeply.');
  }
}

// graphql-js 16.15 has "that" in this message.
const TOO_MANY_TOKENS = /contains more tha[nt] \d+ tokens/;

/**
 * Parses a document.
 * @throws GraphQLError, StoreError
 */
export function parseWithin({ maxTokens }: Limits, source: string | Source): DocumentNode {
  try {
    return withinStack(() => parse(source, { maxLexicalTokens: maxTokens }));
  } catch (error) {
    if (!(error instanceof Error && TOO_MANY_TOKENS.test(error.message))) throw error;
    throw documentTooLarge(maxTokens, 'tokens');
  }
}

/** Counts of nodes that take long to validate or to execute. */
interface Counts {
  /** Aliases and repeated selections: validation compares each pair of them. */
  names: number;
  directives: number;
  fragments: number;
  /** Validation compares each pair of fragments that are spread in the same place. */
  spreads: number;
  /** The values of the longest list. */
  values: number;
  /** The characters of the longest string. */
  characters: number;
}

/** Returns the response key of a field, or the name of a spread fragment. */
const selectionKeyOf = (node: FieldNode | FragmentSpreadNode): string =>
  node.kind === Kind.FIELD ? (node.alias ?? node.name).value : `...${node.name.value}`;

/** Counts the repeated selections of a set, including those in its inline fragments. */
function countRepeats(set: SelectionSetNode): number {
  const seen = new Set<string>();
  let repeats = 0;
  const countIn = ({ selections }: SelectionSetNode): void => {
    for (const node of selections) {
      if (node.kind === Kind.INLINE_FRAGMENT) {
        countIn(node.selectionSet);
        continue;
      }
      const key = selectionKeyOf(node);
      if (seen.has(key)) repeats += 1;
      seen.add(key);
    }
  };
  countIn(set);
  return repeats;
}

function countNodes(document: DocumentNode): Counts {
  const counts = { names: 0, directives: 0, fragments: 0, spreads: 0, values: 0, characters: 0 };
  visit(document, {
    SelectionSet: (set) => {
      counts.names += countRepeats(set);
    },
    Field: ({ alias }) => {
      if (alias) counts.names += 1;
    },
    FragmentDefinition: () => {
      counts.fragments += 1;
    },
    FragmentSpread: () => {
      counts.spreads += 1;
    },
    Directive: () => {
      counts.directives += 1;
    },
    ListValue: ({ values }) => {
      counts.values = Math.max(counts.values, values.length);
    },
    StringValue: ({ value }) => {
      counts.characters = Math.max(counts.characters, value.length);
    },
  });
  return counts;
}

/** What a document has of something, and how many it may have. */
type Measurement = readonly [count: number, max: number, unit: string];

/** Measures the depth of a document and its root fields. Inline fragments are levels like fields. */
function measureShape(document: DocumentNode, { maxDepth, maxRootFields }: Limits): Measurement[] {
  const depthOf = createFold(
    document,
    ({ kind }, inside) => (kind === Kind.FRAGMENT_SPREAD ? inside : inside + 1),
    Math.max,
  );
  const rootFieldsOf = createFold(
    document,
    ({ kind }, inside) => (kind === Kind.FIELD ? 1 : inside),
    sum,
  );
  const sets = document.definitions.flatMap((node) =>
    'selectionSet' in node ? node.selectionSet : [],
  );
  const operations = document.definitions.flatMap((node) =>
    node.kind === Kind.OPERATION_DEFINITION ? node.selectionSet : [],
  );
  return [
    [Math.max(0, ...sets.map(depthOf)), maxDepth, 'levels of fields and inline fragments'],
    [Math.max(0, ...operations.map(rootFieldsOf)), maxRootFields, 'root fields'],
  ];
}

function measureCounts(document: DocumentNode, limits: Limits): Measurement[] {
  const { names, directives, fragments, spreads, values, characters } = countNodes(document);
  return [
    [names, limits.maxAliases, 'aliases and repeated selections'],
    [directives, limits.maxDirectives, 'directives'],
    [fragments, limits.maxFragments, 'fragments'],
    [spreads, SPREADS_PER_FRAGMENT * limits.maxFragments, 'fragment spreads'],
    [values, limits.maxListSize, 'values in a list'],
    [characters, limits.maxTextLength, 'characters in a string'],
  ];
}

function measureComparisons(
  document: DocumentNode,
  { maxTokens, maxDepth }: Limits,
): Measurement[] {
  const max = COMPARISONS_PER_TOKEN * maxTokens;
  return [
    [
      countComparisons(document, max, maxDepth),
      max,
      'selections, values and pairs of fields to merge, with fragments where they are spread',
    ],
  ];
}

function findExcess(document: DocumentNode, limits: Limits): StoreError | undefined {
  // The shape first: counting visits the selections of nested inline fragments once for each level.
  for (const measure of [measureShape, measureCounts, measureComparisons]) {
    const excess = measure(document, limits).find(([count, max]) => count > max);
    if (excess) return documentTooLarge(excess[1], excess[2]);
  }
  return undefined;
}

/** The parts of the configuration that decide which documents are valid. */
export type Bounds = Pick<Config, 'limits' | 'introspection'>;

const WITHOUT_INTROSPECTION = [...specifiedRules, NoSchemaIntrospectionCustomRule];

/** Validates a document, after its size: measuring takes less time than validation. */
export function validateWithin(
  { limits, introspection }: Bounds,
  schema: GraphQLSchema,
  document: DocumentNode,
): readonly GraphQLError[] {
  return withinStack(() => {
    const excess = findExcess(document, limits);
    if (excess) return [toExecutionError(excess)];
    const rules = introspection ? specifiedRules : WITHOUT_INTROSPECTION;
    return validate(schema, document, rules, { maxErrors: MAX_VALIDATION_ERRORS });
  });
}
