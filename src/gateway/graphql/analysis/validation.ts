import {
  type DocumentNode,
  type GraphQLError,
  type GraphQLSchema,
  Kind,
  NoSchemaIntrospectionCustomRule,
  parse,
  type Source,
  specifiedRules,
  validate,
  visit,
} from 'graphql';

import type { Config, Limits } from '../../config/config.ts';
import { GatewayError } from '../../contract/gateway-error.ts';
import { MAX_LIST_SIZE } from '../../contract/parse.ts';
import { toExecutionError } from '../client-errors.ts';
import { countComparisons } from './comparisons.ts';
import { createFold, sum } from './fragments.ts';

/** How many errors a document, or its variables, can get. */
export const MAX_VALIDATION_ERRORS = 5;

// Far more than real documents have. With these limits, validation takes less than 20 ms.
const SPREADS_PER_FRAGMENT = 6;
const COMPARISONS_PER_TOKEN = 2;

/** The error of a document that has too much of something. */
const documentTooLarge = (max: number, unit: string): GatewayError =>
  new GatewayError('DOCUMENT_TOO_LARGE', `The document must have at most ${max} ${unit}.`);

/** Runs recursive work on a document; a deep document may exceed the stack. @throws GatewayError */
function withinStack<Result>(recurse: () => Result): Result {
  try {
    return recurse();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new GatewayError('DOCUMENT_TOO_LARGE', 'The document is nested too deeply.');
  }
}

// graphql-js 16.15 has "that" in this message.
const TOO_MANY_TOKENS = /contains more tha[nt] \d+ tokens/;

/**
 * Parses a document.
 * @throws GraphQLError, GatewayError
 */
export function parseWithin({ maxTokens }: Limits, source: string | Source): DocumentNode {
  try {
    return withinStack(() => parse(source, { maxLexicalTokens: maxTokens }));
  } catch (error) {
    if (!(error instanceof Error && TOO_MANY_TOKENS.test(error.message))) throw error;
    throw documentTooLarge(maxTokens, 'tokens');
  }
}

/** Counts nodes that take long to validate or to execute, and finds the longest list and string. */
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

/** Measures what a document has, and how many it may have of it; what takes least time first. */
function* measure(
  document: DocumentNode,
  limits: Limits,
): Generator<[count: number, max: number, unit: string]> {
  const { definitions } = document;
  // Inline fragments are levels like fields, as counting visits the selections of nested ones at each level.
  const depthOf = createFold(
    document,
    ({ kind }, inside) => (kind === Kind.FRAGMENT_SPREAD ? inside : inside + 1),
    Math.max,
  );
  const depths = definitions.map((node) =>
    'selectionSet' in node ? depthOf(node.selectionSet) : 0,
  );
  yield [Math.max(...depths), limits.maxDepth, 'levels of fields and inline fragments'];
  const rootFieldsOf = createFold(
    document,
    ({ kind }, inside) => (kind === Kind.FIELD ? 1 : inside),
    sum,
  );
  const rootFields = definitions.map((node) =>
    node.kind === Kind.OPERATION_DEFINITION ? rootFieldsOf(node.selectionSet) : 0,
  );
  yield [Math.max(...rootFields), limits.maxRootFields, 'root fields'];
  const counts = countNodes(document);
  yield [counts.aliases, limits.maxAliases, 'aliases'];
  yield [counts.directives, limits.maxDirectives, 'directives'];
  yield [counts.fragments, limits.maxFragments, 'fragments'];
  // Validation compares each pair of fragments that are spread in the same place.
  yield [counts.spreads, SPREADS_PER_FRAGMENT * limits.maxFragments, 'fragment spreads'];
  yield [counts.values, MAX_LIST_SIZE, 'values in a list'];
  yield [counts.characters, limits.maxTextLength, 'characters in a string'];
  const max = COMPARISONS_PER_TOKEN * limits.maxTokens;
  yield [
    countComparisons(document, max, limits.maxDepth),
    max,
    'selections, values and pairs of fields to merge, with fragments where they are spread',
  ];
}

function findExcess(document: DocumentNode, limits: Limits): GatewayError | undefined {
  for (const [count, max, unit] of measure(document, limits)) {
    if (count > max) return documentTooLarge(max, unit);
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
    return validate(schema, document, rules, {
      maxErrors: MAX_VALIDATION_ERRORS,
      hideSuggestions: !introspection,
    });
  });
}
