import {
  type DocumentNode,
  type FieldNode,
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

import type { Config, Limits } from '../config.ts';
import { InvalidInput, type Issue, StoreError } from '../errors.ts';
import { toFailure } from './client-errors.ts';
import { add, createFold } from './fragments.ts';

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
  /** Aliases, and names that a selection has again: validation compares each with each. */
  names: number;
  directives: number;
  fragments: number;
  /** The values of the longest list. */
  values: number;
  /** The characters of the longest text. */
  characters: number;
}

/** The fields of a selection, those in inline fragments too. */
const fieldsOf = (set: SelectionSetNode | undefined): FieldNode[] =>
  (set?.selections ?? []).flatMap((node) => {
    if (node.kind === Kind.FIELD) return node;
    return node.kind === Kind.INLINE_FRAGMENT ? fieldsOf(node.selectionSet) : [];
  });

/** How many names a selection has that are aliases or that it has had before. */
function countNames(set: SelectionSetNode | undefined): number {
  const seen = new Set<string>();
  return fieldsOf(set).filter(({ alias, name }) => {
    const key = alias?.value ?? name.value;
    const isAgain = seen.has(key);
    seen.add(key);
    return alias || isAgain;
  }).length;
}

function countNodes(document: DocumentNode): Counts {
  const counts = { names: 0, directives: 0, fragments: 0, values: 0, characters: 0 };
  visit(document, {
    OperationDefinition: ({ selectionSet }) => {
      counts.names += countNames(selectionSet);
    },
    FragmentDefinition: ({ selectionSet }) => {
      counts.fragments += 1;
      counts.names += countNames(selectionSet);
    },
    Field: ({ selectionSet }) => {
      counts.names += countNames(selectionSet);
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

function findExcess(document: DocumentNode, limits: Limits): StoreError | undefined {
  const { names, directives, fragments, values, characters } = countNodes(document);
  const depthOf = createFold(document, (inside) => inside + 1, Math.max);
  const rootFieldsOf = createFold(document, () => 1, add);
  const operations = document.definitions.flatMap((node) =>
    node.kind === Kind.OPERATION_DEFINITION ? node.selectionSet : [],
  );
  const checks: [number, number, string][] = [
    [names, limits.maxAliases, 'aliases and repeated fields'],
    [directives, limits.maxDirectives, 'directives'],
    [fragments, limits.maxFragments, 'fragments'],
    [values, limits.maxListSize, 'values in a list'],
    [characters, limits.maxTextLength, 'characters in a text'],
    [Math.max(0, ...operations.map(depthOf)), limits.maxDepth, 'levels of fields'],
    [Math.max(0, ...operations.map(rootFieldsOf)), limits.maxRootFields, 'root fields'],
  ];
  const excess = checks.find(([count, most]) => count > most);
  return excess && tooLarge(excess[1], excess[2]);
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
    if (excess) return [toFailure(excess)];
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
