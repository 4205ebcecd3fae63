import { collectFields, collectSubFields } from '@graphql-tools/utils';
import type { JSONObject, JSONValue } from '@modelcontextprotocol/server';
import {
  astFromValue,
  type FieldNode,
  getNullableType,
  type GraphQLInputFieldExtensions,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredInputField,
  type ValueNode,
  valueFromASTUntyped,
  visit,
} from 'graphql';
import { z } from 'zod';

import { isError } from '../../operation/accept/usage.ts';
import { type Operation, ParsedDocument } from '../../operation/operation.ts';

/** The JSON Schema (2020-12) of an object. */
export interface ToolSchema extends JSONObject {
  readonly type: 'object';
  readonly properties: JSONObject;
  readonly required: string[];
}

// A scalar of a store that is missing here may be any JSON.
const SCALARS: Readonly<Record<string, JSONObject>> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Boolean: { type: 'boolean' },
  Float: { type: 'number' },
  Int: { type: 'integer' },
  DateTime: { type: 'string', format: 'date-time' },
  Date: { type: 'string', format: 'date' },
};

/** Returns a schema with a description in front of its own. */
function describe(schema: JSONObject, text: string | null | undefined): JSONObject {
  const { description: own } = schema;
  if (!text) return schema;
  return { ...schema, description: typeof own === 'string' ? `${text} ${own}` : text };
}

// GraphQL's input objects have no prototype.
const toPlain = (value: unknown): JSONValue => JSON.parse(JSON.stringify(value));

// Not a list of types: some model providers reject all tools of a server if one has it.
const orNull = (schema: JSONObject): JSONObject =>
  Object.keys(schema).length === 0 ? schema : { anyOf: [schema, { type: 'null' }] };

const BOUNDS = ['minimum', 'maximum', 'minLength', 'maxLength'];

function withBounds(schema: JSONObject, { rule }: GraphQLInputFieldExtensions): JSONObject {
  if (!rule) return schema;
  const full = z.toJSONSchema(rule, { io: 'input', unrepresentable: 'any' });
  // The schema of a value that can be null has two branches.
  const checked = { ...full, ...full.anyOf?.[0] };
  // The rule for an id parses its digits.
  if (checked.type !== schema['type']) return schema;
  const bounds = Object.entries(checked).flatMap(([name, bound]) =>
    BOUNDS.includes(name) && typeof bound === 'number' ? [[name, bound] as const] : [],
  );
  return { ...schema, ...Object.fromEntries(bounds) };
}

function toLeafSchema(type: GraphQLInputType | GraphQLOutputType): JSONObject {
  if (!isEnumType(type)) return ('name' in type && SCALARS[type.name]) || {};
  const values = type.getValues();
  const meanings = values.map(({ name, description }) => `${name}: ${description ?? name}`);
  return { type: 'string', enum: values.map(({ name }) => name), description: meanings.join(' ') };
}

interface ToolInput {
  readonly type: GraphQLInputType;
  readonly description?: string | null | undefined;
  readonly defaultValue?: ValueNode | null | undefined;
  readonly extensions?: GraphQLInputFieldExtensions | undefined;
}

/**
 * Returns the schema of an input. Input objects are written out, because many clients can't follow references. An optional
 * value can be omitted, so its schema has null only if null removes a stored value.
 */
export function toInputSchema(
  { type, description, defaultValue, extensions = {} }: ToolInput,
  outer: readonly GraphQLInputType[] = [],
): JSONObject {
  const present = toPresentInput(getNullableType(type), outer);
  const schema = extensions.nullRemoves ? orNull(present) : withBounds(present, extensions);
  const value = defaultValue && { default: toPlain(valueFromASTUntyped(defaultValue)) };
  return { ...describe(schema, description), ...value };
}

function toPresentInput(type: GraphQLInputType, outer: readonly GraphQLInputType[]): JSONObject {
  if (isListType(type)) {
    return { type: 'array', items: toInputSchema({ type: type.ofType }, outer) };
  }
  if (!isInputObjectType(type)) return toLeafSchema(type);
  if (outer.includes(type)) return { type: 'object' };
  const fields = Object.values(type.getFields());
  const properties = fields.map(({ name, defaultValue, ...field }) => {
    const input = { ...field, defaultValue: astFromValue(defaultValue, field.type) };
    return [name, toInputSchema(input, [...outer, type])] as const;
  });
  const required = fields.filter(isRequiredInputField).map(({ name }) => name);
  const schema = { type: 'object', properties: Object.fromEntries(properties), required };
  return describe({ ...schema, additionalProperties: false }, type.description);
}

/** Returns the schema of an operation's data. If @skip or @include can leave fields out, no field is required. */
export function toOutputSchema(
  schema: GraphQLSchema,
  operation: Operation,
  root: GraphQLObjectType,
): ToolSchema {
  // collectFields would ask for the values of variables in @skip and @include.
  const document = visit(operation.document, { Directive: () => null });
  const isWhole = document === operation.document;
  const { node, fragments } = new ParsedDocument(schema, document).find() ?? operation;
  const context = [schema, Object.fromEntries(fragments), {}] as const;
  const toObject = (
    type: GraphQLObjectType,
    fields: ReturnType<typeof collectFields>['fields'],
  ) => ({
    type: 'object' as const,
    properties: Object.fromEntries(
      Array.from(fields, ([key, nodes]) => {
        const name = nodes[0]?.name.value ?? '';
        const field = type.getFields()[name];
        if (name === '__typename') return [key, { type: 'string', enum: [type.name] }];
        return [key, field ? describe(toSchema(field.type, nodes), field.description) : {}];
      }),
    ),
    required: isWhole ? [...fields.keys()] : [],
  });
  const toPresent = (type: GraphQLOutputType, nodes: FieldNode[]): JSONObject => {
    if (isListType(type)) return { type: 'array', items: toSchema(type.ofType, nodes) };
    if (isObjectType(type)) return toObject(type, collectSubFields(...context, type, nodes).fields);
    if (!isAbstractType(type)) return toLeafSchema(type);
    // The errors in a union become errors of the tool.
    const [only, ...others] = schema
      .getPossibleTypes(type)
      .filter((one) => !isError(one))
      .map((one) => toPresent(one, nodes));
    return only && others.length === 0 ? only : { anyOf: only ? [only, ...others] : [] };
  };
  const toSchema = (type: GraphQLOutputType, nodes: FieldNode[]): JSONObject =>
    isNonNullType(type) ? toPresent(type.ofType, nodes) : orNull(toPresent(type, nodes));
  return toObject(root, collectFields(...context, root, node.selectionSet).fields);
}
