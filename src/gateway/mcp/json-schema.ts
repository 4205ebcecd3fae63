import { collectFields, collectSubFields } from '@graphql-tools/utils';
import type { JSONObject } from '@modelcontextprotocol/server';
import {
  astFromValue,
  type FieldNode,
  type GraphQLInputField,
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

import { type Operation, operationOf } from '../graphql/analysis/operation.ts';
import { isError } from '../graphql/analysis/usage.ts';

/** The JSON Schema (2020-12) of an object. */
export interface ObjectSchema extends JSONObject {
  readonly type: 'object';
  readonly properties: JSONObject;
}

const MAX_INT = 2_147_483_647;

// A scalar of a store that is missing here may be any JSON.
const SCALARS: Readonly<Record<string, JSONObject>> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Boolean: { type: 'boolean' },
  Float: { type: 'number' },
  Int: { type: 'integer', minimum: -MAX_INT - 1, maximum: MAX_INT },
  DateTime: { type: 'string', format: 'date-time' },
  Date: { type: 'string', format: 'date' },
};

/** Returns a schema with a description in front of its own. */
export function describe(schema: JSONObject, text: string | null | undefined): JSONObject {
  const { description: own } = schema;
  if (!text) return schema;
  return { ...schema, description: typeof own === 'string' ? `${text} ${own}` : text };
}

/** Returns the keyword for a default value; nothing if there is none. */
export function withDefault(value: ValueNode | null | undefined): JSONObject {
  return value ? JSON.parse(JSON.stringify({ default: valueFromASTUntyped(value) })) : {};
}

function orNull(schema: JSONObject): JSONObject {
  const { type, enum: values } = schema;
  if (typeof type !== 'string')
    return 'anyOf' in schema ? { anyOf: [schema, { type: 'null' }] } : {};
  return {
    ...schema,
    type: [type, 'null'],
    ...(Array.isArray(values) && { enum: [...values, null] }),
  };
}

/** Returns the schema of a scalar or an enum, with the meanings of an enum's values. */
function toLeafSchema(type: GraphQLInputType | GraphQLOutputType): JSONObject {
  if (!isEnumType(type)) return ('name' in type && SCALARS[type.name]) || {};
  const values = type.getValues();
  const meanings = values.map(({ name, description }) => `${name}: ${description ?? name}`);
  return { type: 'string', enum: values.map(({ name }) => name), description: meanings.join(' ') };
}

const toInputField = (
  { type, description, defaultValue }: GraphQLInputField,
  outer: readonly GraphQLInputType[],
): JSONObject => ({
  ...describe(toInputSchema(type, outer), description),
  ...withDefault(astFromValue(defaultValue, type)),
});

/**
 * Returns the schema of an input type. Input objects are written out, because many clients can't follow references; an
 * input object inside itself is only called an object.
 */
export function toInputSchema(
  type: GraphQLInputType,
  outer: readonly GraphQLInputType[] = [],
): JSONObject {
  if (!isNonNullType(type)) return orNull(toPresentInput(type, outer));
  return toPresentInput(type.ofType, outer);
}

function toPresentInput(type: GraphQLInputType, outer: readonly GraphQLInputType[]): JSONObject {
  if (isListType(type)) return { type: 'array', items: toInputSchema(type.ofType, outer) };
  if (!isInputObjectType(type)) return toLeafSchema(type);
  if (outer.includes(type)) return { type: 'object' };
  const fields = Object.values(type.getFields());
  const inner = [...outer, type];
  const properties = fields.map((field) => [field.name, toInputField(field, inner)] as const);
  const required = fields.filter(isRequiredInputField).map(({ name }) => name);
  const schema = { type: 'object', properties: Object.fromEntries(properties), required };
  return describe({ ...schema, additionalProperties: false }, type.description);
}

/** Returns the schema of an operation's data. No field is required, because @skip and @include can leave it out. */
export function toOutputSchema(
  schema: GraphQLSchema,
  operation: Operation,
  root: GraphQLObjectType,
): ObjectSchema {
  // collectFields would ask for the values of variables in @skip and @include.
  const bare = operationOf(visit(operation.document, { Directive: () => null }), undefined);
  const { node, fragments } = bare ?? operation;
  const context = [schema, Object.fromEntries(fragments), {}] as const;
  const toObject = (
    type: GraphQLObjectType,
    fields: ReturnType<typeof collectFields>['fields'],
  ) => ({
    type: 'object' as const,
    properties: Object.fromEntries(
      Array.from(fields, ([key, nodes]) => {
        const field = type.getFields()[nodes[0]?.name.value ?? ''];
        return [key, field ? describe(toSchema(field.type, nodes), field.description) : {}];
      }),
    ),
  });
  const toPresent = (type: GraphQLOutputType, nodes: FieldNode[]): JSONObject => {
    if (isListType(type)) return { type: 'array', items: toSchema(type.ofType, nodes) };
    if (isObjectType(type)) return toObject(type, collectSubFields(...context, type, nodes).fields);
    if (!isAbstractType(type)) return toLeafSchema(type);
    // The errors in a union become errors of the tool.
    const types = schema.getPossibleTypes(type).filter((one) => !isError(one));
    return { anyOf: types.map((one) => toPresent(one, nodes)) };
  };
  const toSchema = (type: GraphQLOutputType, nodes: FieldNode[]): JSONObject =>
    isNonNullType(type) ? toPresent(type.ofType, nodes) : orNull(toPresent(type, nodes));
  return toObject(root, collectFields(...context, root, node.selectionSet).fields);
}
