import SchemaBuilder from '@pothos/core';
import ComplexityPlugin from '@pothos/plugin-complexity';
import ErrorsPlugin from '@pothos/plugin-errors';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin from '@pothos/plugin-relay';
import { GraphQLError, GraphQLID, GraphQLScalarType, Kind, type ValueNode } from 'graphql';
import { DateTimeResolver } from 'graphql-scalars';

import type PrismaTypes from '../database/generated/pothos.ts';
import { getDatamodel } from '../database/generated/pothos.ts';
import { DEFAULT_PAGE, MAX_PAGE } from '../database/pages.ts';
import { StoreError } from '../errors.ts';
import type { Context } from '../context.ts';
import { lifecyclePlugin } from './lifecycle.ts';

const MAX_COST = 50_000;
const MAX_DEPTH = 20;

/** Every type of the schema is made with it. */
export const builder = new SchemaBuilder<{
  Context: Context;
  PrismaTypes: PrismaTypes;
  Scalars: {
    ID: { Input: string; Output: bigint };
    DateTime: { Input: Date; Output: Date };
  };
  Connection: { totalCount: () => Promise<number> };
  DefaultFieldNullability: false;
  DefaultEdgesNullability: false;
  DefaultNodeNullability: false;
}>({
  plugins: [ComplexityPlugin, ErrorsPlugin, RelayPlugin, PrismaPlugin, lifecyclePlugin],
  defaultFieldNullability: false,
  prisma: { client: ({ db }) => db.prisma, dmmf: getDatamodel() },
  // A field costs 1, and what a page selects as often as the page has rows.
  complexity: {
    defaultListMultiplier: 1,
    limit: { complexity: MAX_COST, depth: MAX_DEPTH },
    complexityError: (_kind, { complexity, depth }) =>
      new StoreError(
        'QUERY_TOO_COSTLY',
        `The operation costs ${complexity} at depth ${depth}; ${MAX_COST} at depth ${MAX_DEPTH} is allowed.`,
      ),
  },
  errors: {
    directResult: true,
    defaultUnionOptions: {
      name: ({ fieldName }) => `${fieldName[0]?.toUpperCase()}${fieldName.slice(1)}Result`,
      description: 'What the mutation made, changed or removed, or why it changed nothing.',
    },
  },
  relay: {
    defaultConnectionFieldOptions: {
      complexity: ({ first, last }) => ({
        multiplier: Math.min(first ?? last ?? DEFAULT_PAGE, MAX_PAGE),
      }),
    },
    edgesFieldOptions: { nullable: false, description: 'The rows of this page, with cursors.' },
    nodeFieldOptions: { nullable: false, description: 'The row.' },
    nodesOnConnection: { description: 'The rows of this page.' },
    cursorFieldOptions: { description: 'Its place in this order, for `after` and `before`.' },
    pageInfoFieldOptions: { description: 'Where this page lies in the list.' },
    pageInfoTypeOptions: { description: 'Where a page lies in its list.' },
    hasNextPageFieldOptions: { description: 'Whether rows follow this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether rows come before this page.' },
    startCursorFieldOptions: { description: 'The cursor of the first row of the page.' },
    endCursorFieldOptions: { description: 'The cursor of the last row of the page.' },
    firstArgOptions: { description: 'How many rows from the start: 0 to 100, 20 by default.' },
    afterArgOptions: { description: 'Only rows after this cursor.' },
    lastArgOptions: { description: 'How many rows from the end, instead of `first`: 0 to 100.' },
    beforeArgOptions: { description: 'Only rows before this cursor.' },
    defaultConnectionTypeOptions: { description: 'A page of a list.' },
    defaultEdgeTypeOptions: { description: 'A row of a page, with its cursor.' },
    nodeQueryOptions: false,
    nodesQueryOptions: false,
  },
});

builder.globalConnectionField('totalCount', (t) =>
  t.int({
    description: 'How many rows the whole list has, counted only where asked for.',
    resolve: ({ totalCount }) => totalCount(),
  }),
);

const notAnId = (nodes: ValueNode | null): GraphQLError =>
  new GraphQLError('An ID has to be a string of digits.', {
    nodes,
    extensions: { code: 'INVALID_ID' },
  });

// int64 as its digits. Pothos takes graphql-js's own ID type whatever it is told, so its functions
// are replaced there. A JSON number is taken only while it is exact; whether the digits are an
// int64 is checked where the identifier is used, so that the error can tell its path.
Object.assign(GraphQLID, {
  serialize: String,
  parseValue: (value: unknown) => {
    if (typeof value === 'string' || Number.isSafeInteger(value)) return String(value);
    throw notAnId(null);
  },
  parseLiteral: (node: ValueNode) => {
    if (node.kind === Kind.STRING || node.kind === Kind.INT) return node.value;
    throw notAnId(node);
  },
});

const DateTime = new GraphQLScalarType({
  ...DateTimeResolver.toConfig(),
  // The text that JSON.stringify makes of a Date too, in twice the time.
  serialize: (value) => DateTimeResolver.serialize(value).toISOString(),
});

builder.addScalarType('DateTime', DateTime, {
  description: 'A point in time, RFC 3339: with an offset in, in UTC with milliseconds out.',
});

builder.queryType({ description: 'Reading the store.' });
builder.mutationType({
  description: 'Changing the store; each mutation tells its errors as data.',
});
