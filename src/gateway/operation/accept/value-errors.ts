import {
  type ASTNode,
  BREAK,
  type DocumentNode,
  type GraphQLError,
  type GraphQLSchema,
  isEnumType,
  Kind,
  type ValueNode,
  visit,
} from 'graphql';

import { InputError, shorten } from '../../contract/gateway-error.ts';
import { toExecutionError } from '../client-errors.ts';

const UNKNOWN_VALUE = /^Value "[^"]*" does not exist in "(\w+)" enum/;
const MISSING_FIELD = /^Field "(?:\w+\.)?(\w+)" of required type/;

/** Adds the valid values to a message of graphql-js 16.15 about an unknown enum value, if callers may see the schema. */
export function withExpected(message: string, schemaIfPublic: GraphQLSchema | undefined): string {
  const type = schemaIfPublic?.getType(UNKNOWN_VALUE.exec(message)?.[1] ?? '');
  if (!isEnumType(type)) return message;
  const names = type.getValues().map(({ name }) => name);
  return `${message} It must be one of ${names.join(', ')}.`;
}

/** Returns the path of an error: `path`, or the path of the missing field if the message is about one. */
export const withMissingField = (path: readonly string[], message: string): string[] => [
  ...path,
  ...(MISSING_FIELD.exec(message)?.slice(1) ?? []),
];

/** Returns the path of a node in a value whose own path is `path`; undefined if the value does not contain the node. */
function pathIn(value: ValueNode, node: ASTNode, path: readonly string[]): string[] | undefined {
  if (value === node) return [...path];
  const inner =
    value.kind === Kind.LIST
      ? value.values.map((item, index) => [String(index), item, item] as const)
      : value.kind === Kind.OBJECT
        ? value.fields.map((field) => [field.name.value, field, field.value] as const)
        : [];
  for (const [name, holder, item] of inner) {
    const found = holder === node ? [...path, name] : pathIn(item, node, [...path, name]);
    if (found) return found;
  }
  return undefined;
}

function pathTo(document: DocumentNode, node: ASTNode): string[] | undefined {
  let found: string[] | undefined;
  visit(document, {
    Directive: () => false,
    Argument: ({ name, value }) => {
      found ??= pathIn(value, node, [name.value]);
      return found ? BREAK : false;
    },
  });
  return found;
}

/** Returns a document's error with the path of the value that graphql-js rejects, if the error is about a value. */
export function withValuePath(
  document: DocumentNode,
  error: GraphQLError,
  schemaIfPublic: GraphQLSchema | undefined,
): GraphQLError {
  const [node] = error.nodes ?? [];
  const found = node && node.kind !== Kind.VARIABLE ? pathTo(document, node) : undefined;
  if (!found) return error;
  const message = shorten(withExpected(error.message, schemaIfPublic));
  const issue = { path: withMissingField(found, message), message };
  return toExecutionError(new InputError('GRAPHQL_VALIDATION_FAILED', [issue]), node);
}
