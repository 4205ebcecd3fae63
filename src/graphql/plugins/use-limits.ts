import {
  type DocumentNode,
  type FieldNode,
  type FragmentSpreadNode,
  type GraphQLError,
  type GraphQLSchema,
  Kind,
  NoSchemaIntrospectionCustomRule,
  type SelectionSetNode,
  specifiedRules,
  validate,
  visit,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';

import type { Config, Limits } from '../../config/config.ts';
import { InvalidInput, type Issue, StoreError } from '../../contract/errors.ts';
import { toExecutionError } from '../errors.ts';
import { add, createFold } from '../analysis/fragments.ts';

/** How many errors a document, or its variables, can get: a caller mends one at a time. */
export const MAX_ERRORS = 5;
// graphql-js 16.15 says "that".
const TOO_MANY_TOKENS = /contains more tha[nt] \d+ tokens/;

const tooLarge = (most: number, what: string): StoreError =>
  new StoreError('DOCUMENT_TOO_LARGE', `The document can have at most ${most} ${what}.`);

/** Does what goes into a document by recursion, so that a deep one may run out of stack. */
function descend<Result>(into: () => Result): Result {
  try {
    return into();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new StoreError('DOCUMENT_TOO_LARGE', 'The document is nested too deep.');
  }
}

/** What a document has of what takes long to validate, or is used many times. */
interface Counts {
  /** Aliases, and selections that a set has again: validation compares each with each. */
  names: number;
  directives: number;
  fragments: number;
  /** The values of the longest list. */
  values: number;
  /** The characters of the longest text. */
  characters: number;
}

/** What a selection is called in its set: the key of a field, or the fragment that is spread. */
const keyOf = (node: FieldNode | FragmentSpreadNode): string =>
  node.kind === Kind.FIELD ? (node.alias ?? node.name).value : `...${node.name.value}`;

/** Counts the selections of a set, those in its inline fragments too, that it has already. */
function countRepeats(set: SelectionSetNode): number {
  const seen = new Set<string>();
  let repeats = 0;
  const countIn = ({ selections }: SelectionSetNode): void => {
    for (const node of selections) {
      if (node.kind === Kind.INLINE_FRAGMENT) {
        countIn(node.selectionSet);
        continue;
      }
      const key = keyOf(node);
      if (seen.has(key)) repeats += 1;
      seen.add(key);
    }
  };
  countIn(set);
  return repeats;
}

function countNodes(document: DocumentNode): Counts {
  const counts = { names: 0, directives: 0, fragments: 0, values: 0, characters: 0 };
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

type Check = readonly [count: number, most: number, what: string];

/** Checks the depth of a document and its root fields. Inline fragments are levels as fields are. */
function checkShape(document: DocumentNode, { maxDepth, maxRootFields }: Limits): Check[] {
  const depthOf = createFold(
    document,
    ({ kind }, inside) => (kind === Kind.FRAGMENT_SPREAD ? inside : inside + 1),
    Math.max,
  );
  const rootFieldsOf = createFold(
    document,
    ({ kind }, inside) => (kind === Kind.FIELD ? 1 : inside),
    add,
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

function checkCounts(document: DocumentNode, limits: Limits): Check[] {
  const { names, directives, fragments, values, characters } = countNodes(document);
  return [
    [names, limits.maxAliases, 'aliases and repeated selections'],
    [directives, limits.maxDirectives, 'directives'],
    [fragments, limits.maxFragments, 'fragments'],
    [values, limits.maxListSize, 'values in a list'],
    [characters, limits.maxTextLength, 'characters in a text'],
  ];
}

function findExcess(document: DocumentNode, limits: Limits): StoreError | undefined {
  // The shape first: what follows goes through the fields of a set again at each level of fragments.
  for (const check of [checkShape, checkCounts]) {
    const excess = check(document, limits).find(([count, most]) => count > most);
    if (excess) return tooLarge(excess[1], excess[2]);
  }
  return undefined;
}

/** What decides which documents run. */
export type Bounds = Pick<Config, 'limits' | 'introspection'>;

const WITHOUT_INTROSPECTION = [...specifiedRules, NoSchemaIntrospectionCustomRule];

/** Validates a document that is not too large: to find that out takes less. */
export function validateWithin(
  { limits, introspection }: Bounds,
  schema: GraphQLSchema,
  document: DocumentNode,
): readonly GraphQLError[] {
  return descend(() => {
    const excess = findExcess(document, limits);
    if (excess) return [toExecutionError(excess)];
    const rules = introspection ? specifiedRules : WITHOUT_INTROSPECTION;
    return validate(schema, document, rules, { maxErrors: MAX_ERRORS });
  });
}

// No input of the schema is nested so deep; scalars make text of what they are given, by recursion.
const MAX_INPUT_DEPTH = 10;

/** Finds what of the variables is too large: a field may use one a thousand times. */
function findLargeValue(value: unknown, path: string[], limits: Limits): Issue | undefined {
  const { maxListSize, maxTextLength } = limits;
  if (typeof value === 'string') {
    const message = `can have at most ${maxTextLength} characters.`;
    return value.length > maxTextLength ? { path, message } : undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (path.length > MAX_INPUT_DEPTH) return { path, message: 'is nested too deep.' };
  // Of an input with many fields that there are not, each would be told, with the whole input.
  const isInput = path.length > 0;
  const size = Array.isArray(value) ? value.length : Object.keys(value).length;
  if (isInput && size > maxListSize) {
    return { path, message: `can have at most ${maxListSize} values.` };
  }
  for (const [name, inner] of Object.entries(value)) {
    const issue = findLargeValue(inner, [...path, name], limits);
    if (issue) return issue;
  }
  return undefined;
}

/** Refuses documents that are too large, before they are validated, and variables that are. */
export function useLimits(bounds: Bounds): Plugin {
  const { limits } = bounds;
  return {
    onParse: ({ parseFn, setParseFn }) => {
      setParseFn((source, options) => {
        try {
          const most = { ...options, maxLexicalTokens: limits.maxTokens };
          return descend(() => parseFn(source, most));
        } catch (error) {
          if (!(error instanceof Error && TOO_MANY_TOKENS.test(error.message))) throw error;
          throw tooLarge(limits.maxTokens, 'tokens');
        }
      });
    },
    onValidate: ({ setValidationFn }) => {
      setValidationFn((schema, document) => validateWithin(bounds, schema, document));
    },
    onExecute: ({ args: { variableValues } }) => {
      const issue = variableValues && findLargeValue(variableValues, [], limits);
      if (issue) throw new InvalidInput([issue]);
    },
  };
}
