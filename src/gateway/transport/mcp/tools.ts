import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { ToolAnnotations } from '@modelcontextprotocol/server';
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
import { z } from 'zod';

import { ConfigError } from '../../config/config.ts';
import { toError } from '../../contract/gateway-error.ts';
import { MAX_KEY_LENGTH, MAX_LINES, MAX_LIST_SIZE } from '../../contract/parse.ts';
import { upperFirst } from '../../model/words.ts';
import { type Bounds, parseWithin, validateWithin } from '../../operation/accept/validation.ts';
import { type Operation, ParsedDocument } from '../../operation/operation.ts';
import { toInputSchema, toOutputSchema, type ToolSchema } from './json-schema.ts';

const KEY = 'idempotencyKey';
const KEY_USE = {
  description:
    'Choose a new UUID for each write that is wanted. If the call fails or its result is lost, call again with the same ' +
    'key and the same other arguments: the write is not done twice.',
  extensions: { rule: z.string().min(1).max(MAX_KEY_LENGTH) },
};
const SIZE_USE = {
  description: 'The maximum number of items to return.',
  extensions: { rule: z.int().min(0).max(MAX_LIST_SIZE) },
};
const LINES_USE = { description: `The entries: 1 to ${MAX_LINES}.` };

// Model providers reject longer names.
const NAME = /^.{1,64}$/;
const NAMED = 'A tool must have a name of at most 64 characters, and a description before it.';

/** An operation that models can call. */
export interface Tool {
  /** The document, whose only operation is the tool's. */
  readonly text: string;
  readonly parsed: DocumentNode;
  readonly scopes: readonly string[];
  /** What clients are told about the tool. */
  readonly definition: {
    readonly name: string;
    readonly title: string;
    readonly description: string;
    readonly inputSchema: ToolSchema;
    readonly outputSchema: ToolSchema;
    readonly annotations: ToolAnnotations;
  };
}

export type Tools = ReadonlyMap<string, Tool>;

interface VariableUse {
  readonly description?: string | null | undefined;
  readonly extensions?: GraphQLInputFieldExtensions | undefined;
  readonly isRequired?: boolean | undefined;
}

/** Describes the argument that a visitor is at, in words for models where those of the schema are for programs. */
function useOfArgument(name: string, typeInfo: TypeInfo): VariableUse {
  if (name === KEY) return KEY_USE;
  const { description, extensions } = typeInfo.getArgument() ?? {};
  const { listSize } = typeInfo.getFieldDef()?.extensions.directives ?? {};
  const type = getNamedType(typeInfo.getInputType());
  if (listSize?.slicingArguments.includes(name)) {
    if (type === GraphQLInt) return SIZE_USE;
    if (isInputObjectType(type)) return LINES_USE;
  }
  return { description, extensions, isRequired: extensions?.nullRemoves };
}

function usesOf(schema: GraphQLSchema, document: DocumentNode): ReadonlyMap<string, VariableUse> {
  const uses = new Map<string, VariableUse>();
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

function toVariablesSchema(
  schema: GraphQLSchema,
  { document, node: { variableDefinitions = [] } }: Operation,
): ToolSchema {
  const uses = usesOf(schema, document);
  const properties = variableDefinitions.map((definition) => {
    const name = definition.variable.name.value;
    const type = typeFromAST(schema, definition.type);
    const { description, extensions } = uses.get(name) ?? {};
    const input = {
      description: definition.description?.value ?? description,
      defaultValue: definition.defaultValue,
      extensions,
    };
    return [name, isInputType(type) ? toInputSchema({ type, ...input }) : {}] as const;
  });
  const required = variableDefinitions.filter(
    (definition) => isRequired(definition) || uses.get(definition.variable.name.value)?.isRequired,
  );
  return {
    type: 'object',
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

/** Returns the field that a tool calls to write; undefined if it reads. @throws GraphQLError if it can't be repeated */
function mutationIn(
  schema: GraphQLSchema,
  { operation, selectionSet: { selections }, variableDefinitions = [] }: OperationDefinitionNode,
) {
  if (operation !== OperationTypeNode.MUTATION) return undefined;
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
  return schema.getMutationType()?.getFields()[field.name.value];
}

/** Returns what programs may ask their user about: a write that doesn't only add is called destructive. */
const annotationsOf = (mutation: ReturnType<typeof mutationIn>): ToolAnnotations => ({
  readOnlyHint: !mutation,
  destructiveHint: mutation !== undefined && !mutation.extensions.onlyAdds,
  // A read changes nothing, and a write that is repeated with its key is not done twice.
  idempotentHint: true,
  openWorldHint: false,
});

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
  const mutation = mutationIn(schema, node);
  return {
    text: source.body,
    parsed: document,
    scopes: [mutation?.extensions.scope ?? [], ...operation.usage.scopes].flat(),
    definition: {
      name: name.value,
      title: toTitle(name.value),
      description: description.value,
      inputSchema: toVariablesSchema(schema, operation),
      outputSchema: toOutputSchema(schema, operation, root),
      annotations: annotationsOf(mutation),
    },
  };
}

/** Reads the `.graphql` files in a folder, by the names of their operations. @throws ConfigError if one can't be a tool */
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
