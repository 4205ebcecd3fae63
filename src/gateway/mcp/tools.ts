import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { JSONObject } from '@modelcontextprotocol/server';
import {
  type ArgumentNode,
  type ASTNode,
  getNamedType,
  GraphQLError,
  GraphQLInt,
  type GraphQLSchema,
  isInputObjectType,
  isInputType,
  Kind,
  type ObjectFieldNode,
  type OperationDefinitionNode,
  OperationTypeNode,
  Source,
  typeFromAST,
  TypeInfo,
  type VariableDefinitionNode,
  visit,
  visitWithTypeInfo,
} from 'graphql';

import { ConfigError } from '../config/config.ts';
import { toError } from '../contract/gateway-error.ts';
import { MAX_LABEL_LENGTH, MAX_LIST_SIZE } from '../contract/parse.ts';
import { type Operation, operationOf } from '../graphql/analysis/operation.ts';
import { usageOf } from '../graphql/analysis/usage.ts';
import { type Bounds, parseWithin, validateWithin } from '../graphql/analysis/validation.ts';
import {
  describe,
  type ObjectSchema,
  toInputSchema,
  toOutputSchema,
  withDefault,
} from './json-schema.ts';

const KEY = 'idempotencyKey';
const KEY_BOUNDS = { minLength: 1, maxLength: MAX_LABEL_LENGTH };
const SIZE_BOUNDS = { minimum: 0, maximum: MAX_LIST_SIZE };
const KEY_RULE =
  'Choose a new UUID for each write that is wanted. If the call fails or its result is lost, call again with the same ' +
  'key and the same other arguments: the write is not done twice.';

// Model providers reject longer names.
const NAME = /^.{1,64}$/;
const NAMED = 'A tool must have a name of at most 64 characters, and a description before it.';

/** An operation that models can call. */
export interface Tool {
  /** The document, whose only operation is the tool's. */
  readonly text: string;
  /** The scopes that a caller needs. */
  readonly scopes: readonly string[];
  /** What clients are told about the tool. */
  readonly definition: {
    readonly name: string;
    readonly description: string;
    readonly inputSchema: ObjectSchema;
    readonly outputSchema: ObjectSchema;
    readonly annotations: { readonly readOnlyHint: boolean; readonly idempotentHint: true };
  };
}

export type Tools = ReadonlyMap<string, Tool>;

/** Returns the schema of each variable by its name, with the descriptions of the arguments to which they are passed. */
function toProperties(schema: GraphQLSchema, { document, node }: Operation): JSONObject {
  const uses = new Map<
    string,
    { readonly text?: string | null | undefined; readonly bounds: object }
  >();
  const typeInfo = new TypeInfo(schema);
  const add = ({ name, value }: ArgumentNode | ObjectFieldNode, text?: string | null): void => {
    if (value.kind !== Kind.VARIABLE) return;
    const { listSize } = typeInfo.getFieldDef()?.extensions.directives ?? {};
    const isSize = listSize?.slicingArguments.includes(name.value) && typeInfo.getInputType();
    const bounds = isSize && getNamedType(isSize) === GraphQLInt ? SIZE_BOUNDS : {};
    const isKey = name.value === KEY;
    uses.set(value.name.value, isKey ? { text: KEY_RULE, bounds: KEY_BOUNDS } : { text, bounds });
  };
  const visitor = visitWithTypeInfo(typeInfo, {
    Argument: (argument) => add(argument, typeInfo.getArgument()?.description),
    ObjectField: (field) => {
      const type = getNamedType(typeInfo.getParentInputType());
      if (isInputObjectType(type)) add(field, type.getFields()[field.name.value]?.description);
    },
  });
  visit(document, visitor);
  const properties = node.variableDefinitions?.map(({ variable: { name }, ...definition }) => {
    const type = typeFromAST(schema, definition.type);
    const { text, bounds } = uses.get(name.value) ?? {};
    const values = isInputType(type) ? toInputSchema(type) : {};
    const described = describe(values, definition.description?.value ?? text);
    return [
      name.value,
      { ...described, ...bounds, ...withDefault(definition.defaultValue) },
    ] as const;
  });
  return Object.fromEntries(properties ?? []);
}

const isRequired = ({ type, defaultValue }: VariableDefinitionNode): boolean =>
  type.kind === Kind.NON_NULL_TYPE && !defaultValue;

const refuse = (rule: string, nodes?: ASTNode): never => {
  throw new GraphQLError(rule, { nodes: nodes ?? null });
};

/** Returns the field of a mutation. @throws GraphQLError if the mutation can't be repeated */
function requireKey({
  selectionSet: { selections },
  variableDefinitions = [],
}: OperationDefinitionNode): string {
  const [field] = selections;
  if (field?.kind !== Kind.FIELD || selections.length > 1) {
    return refuse('A tool that writes must have one field.', selections.at(-1));
  }
  const key = field.arguments?.find(({ name }) => name.value === KEY)?.value;
  const isPassed = variableDefinitions
    .filter(isRequired)
    .some(({ variable }) => key?.kind === Kind.VARIABLE && key.name.value === variable.name.value);
  if (!isPassed)
    refuse(`A tool that writes must pass a variable of type String! as ${KEY}.`, field);
  return field.name.value;
}

/** Returns the scopes that an operation requires. @throws GraphQLError if it writes and can't be repeated */
function scopesOf(schema: GraphQLSchema, operation: Operation): string[] {
  const writes = operation.node.operation === OperationTypeNode.MUTATION;
  const mutation = writes && schema.getMutationType()?.getFields()[requireKey(operation.node)];
  const { scope = [] } = (mutation && mutation.extensions) || {};
  return [scope, usageOf(schema, operation).reads ? 'read' : []].flat();
}

/** @throws GraphQLError, GatewayError if the document can't be a tool */
function toTool(source: Source, schema: GraphQLSchema, bounds: Bounds): Tool {
  const document = parseWithin(bounds.limits, source);
  const [error] = validateWithin(bounds, schema, document);
  if (error) throw error;
  const operation = operationOf(document, undefined) ?? refuse('A file must have one operation.');
  const { node } = operation;
  const { name, description, operation: type, variableDefinitions = [] } = node;
  const root = schema.getRootType(type);
  if (!root || type === OperationTypeNode.SUBSCRIPTION)
    return refuse('A tool must not subscribe.', node);
  if (!name || !description || !NAME.test(name.value)) return refuse(NAMED, node);
  return {
    text: source.body,
    scopes: scopesOf(schema, operation),
    definition: {
      name: name.value,
      description: description.value,
      inputSchema: {
        type: 'object',
        properties: toProperties(schema, operation),
        required: variableDefinitions.filter(isRequired).map(({ variable }) => variable.name.value),
        additionalProperties: false,
      },
      outputSchema: toOutputSchema(schema, operation, root),
      annotations: { readOnlyHint: type === OperationTypeNode.QUERY, idempotentHint: true },
    },
  };
}

/**
 * Reads the tools, by name: the operations of the `.graphql` files in a folder, one in each.
 * @throws ConfigError if there are none, or if one does not fit the schema or can't be a tool
 */
export function readTools(folder: string, schema: GraphQLSchema, bounds: Bounds): Tools {
  const tools = new Map<string, Tool>();
  let place = folder;
  try {
    for (const name of readdirSync(folder).toSorted()) {
      // Systems and editors leave files such as `._a.graphql` and `.#a.graphql` beside a document.
      if (name.startsWith('.') || !name.endsWith('.graphql')) continue;
      place = join(folder, name);
      const tool = toTool(new Source(readFileSync(place, 'utf8'), place), schema, bounds);
      if (tools.has(tool.definition.name)) refuse('Another file has an operation with this name.');
      tools.set(tool.definition.name, tool);
    }
    if (tools.size === 0) refuse('There are no .graphql files.');
  } catch (error) {
    const { line, column } = (error instanceof GraphQLError && error.locations?.[0]) || {};
    const at = line === undefined ? place : `${place}:${line}:${column}`;
    throw new ConfigError(`MCP_OPERATIONS: ${at}: ${toError(error).message}`);
  }
  return tools;
}
