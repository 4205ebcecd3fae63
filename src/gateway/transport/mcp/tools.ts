import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { JSONObject, ToolAnnotations } from '@modelcontextprotocol/server';
import {
  type ASTNode,
  type DocumentNode,
  getNamedType,
  GraphQLError,
  type GraphQLInputFieldExtensions,
  GraphQLInt,
  type GraphQLSchema,
  isInputObjectType,
  isInputType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  Source,
  typeFromAST,
  TypeInfo,
  type VariableDefinitionNode,
  visit,
  visitWithTypeInfo,
} from 'graphql';

import { ConfigError } from '../../config/config.ts';
import { toError } from '../../contract/gateway-error.ts';
import { MAX_LABEL_LENGTH, MAX_LINES, MAX_LIST_SIZE } from '../../contract/parse.ts';
import { upperFirst } from '../../model/words.ts';
import { type Bounds, parseWithin, validateWithin } from '../../operation/accept/validation.ts';
import { type Operation, ParsedDocument } from '../../operation/operation.ts';
import {
  describe,
  type ObjectSchema,
  toInputSchema,
  toOutputSchema,
  withBounds,
  withDefault,
} from './json-schema.ts';

const KEY = 'idempotencyKey';
const KEY_BOUNDS = { minLength: 1, maxLength: MAX_LABEL_LENGTH };
const SIZE_BOUNDS = { minimum: 0, maximum: MAX_LIST_SIZE };
const SIZE = 'The maximum number of items to return.';
const LINES = `The entries: 1 to ${MAX_LINES}.`;
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
  readonly parsed: DocumentNode;
  /** The scopes that a caller needs. */
  readonly scopes: readonly string[];
  /** What clients are told about the tool. */
  readonly definition: {
    readonly name: string;
    /** The name in words. */
    readonly title: string;
    readonly description: string;
    readonly inputSchema: ObjectSchema;
    readonly outputSchema: ObjectSchema;
    readonly annotations: ToolAnnotations;
  };
}

export type Tools = ReadonlyMap<string, Tool>;

/** What the argument or input field to which a variable is passed says about it. */
interface Use {
  readonly description?: string | null | undefined;
  readonly bounds?: JSONObject;
  readonly extensions?: GraphQLInputFieldExtensions;
  readonly isRequired?: boolean | undefined;
}

/** Describes the argument at which a visitor is, in words for models where the schema's are for programs. */
function useOfArgument(name: string, typeInfo: TypeInfo): Use {
  if (name === KEY) return { description: KEY_RULE, bounds: KEY_BOUNDS };
  const { description, extensions } = typeInfo.getArgument() ?? {};
  const { listSize } = typeInfo.getFieldDef()?.extensions.directives ?? {};
  const type = getNamedType(typeInfo.getInputType());
  if (listSize?.slicingArguments.includes(name)) {
    if (type === GraphQLInt) return { description: SIZE, bounds: SIZE_BOUNDS };
    if (isInputObjectType(type)) return { description: LINES };
  }
  return { description, isRequired: extensions?.nullRemoves, ...(extensions && { extensions }) };
}

/** Returns what is said about each variable, by its name. */
function usesOf(schema: GraphQLSchema, document: DocumentNode): ReadonlyMap<string, Use> {
  const uses = new Map<string, Use>();
  const typeInfo = new TypeInfo(schema);
  const visitor = visitWithTypeInfo(typeInfo, {
    Argument: ({ name, value }) => {
      if (value.kind !== Kind.VARIABLE) return;
      uses.set(value.name.value, useOfArgument(name.value, typeInfo));
    },
    ObjectField: ({ name, value }) => {
      const type = getNamedType(typeInfo.getParentInputType());
      const field = isInputObjectType(type) && type.getFields()[name.value];
      if (value.kind !== Kind.VARIABLE || !field) return;
      const { description, extensions } = field;
      uses.set(value.name.value, { description, extensions });
    },
  });
  visit(document, visitor);
  return uses;
}

/** Returns the schema of an operation's variables, with the descriptions of the arguments to which they are passed. */
function toVariablesSchema(
  schema: GraphQLSchema,
  { document, node: { variableDefinitions = [] } }: Operation,
) {
  const uses = usesOf(schema, document);
  const properties = variableDefinitions.map(({ variable: { name }, ...definition }) => {
    const type = typeFromAST(schema, definition.type);
    const { description, bounds, extensions = {} } = uses.get(name.value) ?? {};
    const values = isInputType(type) ? toInputSchema(type, extensions.nullRemoves) : {};
    const described = describe(
      withBounds(values, extensions),
      definition.description?.value ?? description,
    );
    const all = { ...described, ...bounds, ...withDefault(definition.defaultValue) };
    return [name.value, all] as const;
  });
  const required = variableDefinitions.filter(
    (definition) => isRequired(definition) || uses.get(definition.variable.name.value)?.isRequired,
  );
  return {
    type: 'object' as const,
    properties: Object.fromEntries(properties),
    required: required.map(({ variable }) => variable.name.value),
    additionalProperties: false,
  };
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
  return [scope, operation.usage.needsReadScope ? 'read' : []].flat();
}

/** Returns what programs may ask their user about: a write that doesn't only add is called destructive. */
function annotationsOf(
  schema: GraphQLSchema,
  { operation, selectionSet }: OperationDefinitionNode,
) {
  const [field] = selectionSet.selections;
  const mutation =
    field?.kind === Kind.FIELD && schema.getMutationType()?.getFields()[field.name.value];
  const reads = operation === OperationTypeNode.QUERY;
  return {
    readOnlyHint: reads,
    destructiveHint: !reads && !(mutation && mutation.extensions.onlyAdds),
    // A read changes nothing, and a write that is repeated with its key is not done twice.
    idempotentHint: true,
    openWorldHint: false,
  };
}

/** Returns a name in words: `Find books` for `find_books` or `findBooks`. */
function toTitle(name: string): string {
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .split('_')
    .filter(Boolean);
  return upperFirst(words.join(' ').toLowerCase());
}

/** @throws GraphQLError, GatewayError if the document can't be a tool */
function toTool(source: Source, schema: GraphQLSchema, bounds: Bounds): Tool {
  const document = parseWithin(bounds.limits, source);
  const [error] = validateWithin(bounds, schema, document);
  if (error) throw error;
  const operation =
    new ParsedDocument(schema, document).find() ?? refuse('A file must have one operation.');
  const { node } = operation;
  const { name, description, operation: type } = node;
  const root = schema.getRootType(type);
  if (!root || type === OperationTypeNode.SUBSCRIPTION)
    return refuse('A tool must not subscribe.', node);
  if (!name || !description || !NAME.test(name.value)) return refuse(NAMED, node);
  return {
    text: source.body,
    parsed: document,
    scopes: scopesOf(schema, operation),
    definition: {
      name: name.value,
      title: toTitle(name.value),
      description: description.value,
      inputSchema: toVariablesSchema(schema, operation),
      outputSchema: toOutputSchema(schema, operation, root),
      annotations: annotationsOf(schema, node),
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
