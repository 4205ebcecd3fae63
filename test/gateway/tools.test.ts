import { buildSchema } from 'graphql';
import { describe, expect, it } from 'vitest';

import { ConfigError, readConfig } from '../../src/gateway/config/config.ts';
import { readTools } from '../../src/gateway/transport/mcp/tools.ts';
import { makeFolder } from '../support/folders.ts';
import { writeTools } from '../support/mcp.ts';

const SCHEMA = buildSchema(`
  enum Size { "Few." SMALL LARGE }
  "Conditions."
  input Filter { size: Size = SMALL, ids: [ID!], not: Filter }
  interface Error { code: String! }
  type Missing implements Error { code: String! }
  type Row { id: ID!, at: DateTime }
  type Other { name: String }
  union Result = Row | Missing
  union Either = Row | Other
  scalar DateTime
  type Query { "All rows." rows("Which ones." filter: Filter, size: Size): [Row!]!, either: Either }
  type Mutation { write(id: ID!, idempotencyKey: String): Result!, other: Int }
  type Subscription { row: Row }
`);

const read = (text: string, more: Record<string, string> = {}) =>
  readTools(writeTools(makeFolder(), { tool: text, ...more }), SCHEMA, readConfig({}));

/** Returns the schema of an output type, in an operation with @include. */
const typeOf = (typeName: string, properties: object) => ({
  type: 'object',
  properties: { __typename: { type: 'string', enum: [typeName] }, ...properties },
  required: [],
});

const orNull = (schema: object) => ({ anyOf: [schema, { type: 'null' }] });

/** A mutation with a key of this type. */
const writing = (key: string, more = ''): string =>
  `"A." mutation a($k: ${key}) { write(id: 1, idempotencyKey: $k) { __typename } ${more} }`;

describe('a document', () => {
  it('becomes a tool with the schemas of its variables and of what it selects', () => {
    const tools = read(`
      "Finds rows."
      query find($filter: Filter, "How large." $size: Size! = LARGE) {
        found: rows(filter: $filter, size: $size) { ...Fields }
        either { __typename ... on Row { id } ... on Other { name } }
      }
      fragment Fields on Row { id at @include(if: true) }`);
    const { name, inputSchema, outputSchema } = tools.get('find')?.definition ?? {};
    expect(name).toBe('find');
    const description = 'SMALL: Few. LARGE: LARGE';
    const size = { type: 'string', enum: ['SMALL', 'LARGE'], description };
    const closed = { type: 'object', required: [], additionalProperties: false };
    expect(inputSchema).toEqual({
      ...closed,
      properties: {
        filter: {
          ...closed,
          properties: {
            size: { ...size, default: 'SMALL' },
            ids: { type: 'array', items: { type: 'string' } },
            not: { type: 'object' },
          },
          description: 'Which ones. Conditions.',
        },
        size: { ...size, description: `How large. ${size.description}`, default: 'LARGE' },
      },
    });
    const id = { type: 'string' };
    const row = typeOf('Row', { id });
    const other = typeOf('Other', { name: orNull({ type: 'string' }) });
    expect(outputSchema).toEqual({
      type: 'object',
      properties: {
        found: {
          type: 'array',
          description: 'All rows.',
          items: {
            type: 'object',
            properties: { id, at: orNull({ type: 'string', format: 'date-time' }) },
            required: [],
          },
        },
        either: orNull({ anyOf: [row, other] }),
      },
      required: [],
    });
  });

  it('without @skip and @include returns all that it selects', () => {
    const tools = read('"Finds rows." query find { rows { id at } }');
    expect(tools.get('find')?.definition.outputSchema).toMatchObject({
      properties: { rows: { items: { required: ['id', 'at'] } } },
      required: ['rows'],
    });
  });

  it.each(['find_rows', 'findRows'])('with the name %s has the title Find rows', (name) => {
    const tools = read(`"Finds rows." query ${name} { rows { id } }`);
    expect(tools.get(name)?.definition.title).toBe('Find rows');
  });

  it('that writes becomes a tool whose key is required, with a rule for choosing it', () => {
    const tools = read(`
      "Writes." mutation write($id: ID!, $key: String!) {
        write(id: $id, idempotencyKey: $key) { ... on Row { id } ... on Error { code } }
      }`);
    const { inputSchema, outputSchema, annotations } = tools.get('write')?.definition ?? {};
    expect(inputSchema).toMatchObject({
      required: ['id', 'key'],
      properties: { key: { minLength: 1, maxLength: 255, description: /UUID/ } },
    });
    const hints = { readOnlyHint: false, destructiveHint: true, idempotentHint: true };
    expect(annotations).toEqual({ ...hints, openWorldHint: false });
    // Its errors are errors of the tool.
    expect(outputSchema?.properties).toMatchObject({ write: { type: 'object' } });
  });

  const KEY = /pass a variable of type String! as idempotencyKey/;
  it.each([
    ['has a syntax error', '"A." query a {\n  rows {', /:2:9: Syntax Error/],
    ['does not fit the schema', '"A." query a {\n  none }', /:2:3: Cannot query field "none"/],
    ['has no description', 'query a { either { __typename } }', /:1:1: .+ description/],
    ['has no name', '"A." { either { __typename } }', /Syntax Error|:1:\d+: .+ name/],
    ['subscribes', '"A." subscription a { row { id } }', /:1:\d+: A tool must not subscribe/],
    ['writes without a key', '"A." mutation a { write(id: 1) { __typename } }', KEY],
    [
      'writes with a fixed key',
      '"A." mutation a { write(id: 1, idempotencyKey: "a") { __typename } }',
      KEY,
    ],
    ['writes with a key that can be omitted', writing('String'), KEY],
    ['writes twice', writing('String!', 'other'), /one field/],
  ])('ends the start with its file, line and column if it %s', (_name, text, message) => {
    expect(() => read(text)).toThrow(ConfigError);
    expect(() => read(text)).toThrow(/^MCP_OPERATIONS: .+\/tool\.graphql:/);
    expect(() => read(text)).toThrow(message);
  });

  it('ends the start if another one has the same name, but is no tool if its name begins with a dot', () => {
    const text = '"A." query a { either { __typename } }';
    expect(() => read(text, { second: text })).toThrow(/tool\.graphql: Another file/);
    expect([...read(text, { '._tool': '\0\0', '.#tool': text }).keys()]).toEqual(['a']);
  });
});

it('a folder that is missing or empty ends the start', () => {
  expect(() => readTools('/nowhere', SCHEMA, readConfig({}))).toThrow(/^MCP_OPERATIONS: .+ENOENT/);
  expect(() => readTools(makeFolder(), SCHEMA, readConfig({}))).toThrow(/no \.graphql files/);
});
