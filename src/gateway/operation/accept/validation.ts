import {
  type ASTVisitor,
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  isIntrospectionType,
  NoSchemaIntrospectionCustomRule,
  parse,
  type Source,
  specifiedRules,
  validate,
  type ValidationContext,
  type ValidationRule,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';

import type { Config, Limits } from '../../config/config.ts';
import { GatewayError } from '../../contract/gateway-error.ts';
import { toExecutionError } from '../client-errors.ts';
import { measureDocument } from './document-size.ts';
import { withValuePath } from './value-errors.ts';

/** The most errors reported for a document, its variables or its arguments. graphql-js adds one that says so. */
export const MAX_VALIDATION_ERRORS = 5;

const documentTooLarge = (max: number, unit: string): GatewayError =>
  new GatewayError('DOCUMENT_TOO_LARGE', `The document must have at most ${max} ${unit}.`);

/** Runs recursive work on a document. @throws GatewayError if the document is so deep that the stack overflows */
function withinStack<Result>(recurse: () => Result): Result {
  try {
    return recurse();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new GatewayError('DOCUMENT_TOO_LARGE', 'The document is nested too deeply.');
  }
}

// graphql-js 16.15 misspells "than" as "that" in this message.
const TOO_MANY_TOKENS = /contains more tha[nt] \d+ tokens/;

/** @throws GraphQLError, GatewayError */
export function parseWithin({ maxTokens }: Limits, source: string | Source): DocumentNode {
  try {
    return withinStack(() => parse(source, { maxLexicalTokens: maxTokens }));
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    if (TOO_MANY_TOKENS.test(error.message)) throw documentTooLarge(maxTokens, 'tokens');
    throw Object.assign(error, { extensions: { code: 'GRAPHQL_PARSE_FAILED' } });
  }
}

/** The parts of the configuration that determine which documents are valid. */
export type Bounds = Pick<Config, 'limits' | 'introspection'>;

/** Rejects aliases inside `__schema` and `__type`, so these fields repeat each part of the schema only a few times. */
const noIntrospectionAliases = (context: ValidationContext): ASTVisitor => ({
  Field: (node) => {
    const parent = context.getParentType();
    if (!node.alias || !parent || !isIntrospectionType(parent)) return;
    const message = 'Fields inside __schema and __type must not have aliases.';
    context.reportError(new GraphQLError(message, { nodes: node }));
  },
});

const NO_CONDITION =
  'The root field of a subscription must not have @skip or @include with a variable.';

function validateBy(
  rules: readonly ValidationRule[],
  schema: GraphQLSchema,
  document: DocumentNode,
  hideSuggestions: boolean,
): readonly GraphQLError[] {
  try {
    return validate(schema, document, rules, { maxErrors: MAX_VALIDATION_ERRORS, hideSuggestions });
  } catch (error) {
    // SingleFieldSubscriptionsRule of graphql-js 16.15 evaluates these directives, and throws if it needs a variable.
    if (!(error instanceof GraphQLError)) throw error;
    return [new GraphQLError(NO_CONDITION, { nodes: error.nodes ?? null })];
  }
}

/** Validates a document whose size is known to be harmless, by these rules and the gateway's own. */
export function validateDocument(
  { introspection }: Pick<Config, 'introspection'>,
  schema: GraphQLSchema,
  document: DocumentNode,
  rules: readonly ValidationRule[] = specifiedRules,
): readonly GraphQLError[] {
  return withinStack(() => {
    const own = introspection ? noIntrospectionAliases : NoSchemaIntrospectionCustomRule;
    const errors = validateBy([...rules, own], schema, document, !introspection);
    for (const { extensions } of errors) extensions['code'] ??= 'GRAPHQL_VALIDATION_FAILED';
    return errors.map((error) =>
      withValuePath(document, error, introspection ? schema : undefined),
    );
  });
}

/** Validates a document after checking its size, because measuring takes less time than validation. */
export function validateWithin(
  bounds: Bounds,
  schema: GraphQLSchema,
  document: DocumentNode,
  rules?: readonly ValidationRule[],
): readonly GraphQLError[] {
  return withinStack(() => {
    for (const [count, max, unit] of measureDocument(document, bounds.limits)) {
      if (count > max) return [toExecutionError(documentTooLarge(max, unit))];
    }
    return validateDocument(bounds, schema, document, rules);
  });
}

/** Parses and validates documents within the gateway's limits, by the rules of graphql-js and of other plugins. */
export const readDocuments = (bounds: Bounds): Plugin => ({
  onParse: ({ setParseFn }) => setParseFn((text) => parseWithin(bounds.limits, text)),
  onValidate: ({ setValidationFn }) =>
    setValidationFn((schema, document, rules) => validateWithin(bounds, schema, document, rules)),
});
