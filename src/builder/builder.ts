import SchemaBuilder from '@pothos/core';
import ErrorsPlugin from '@pothos/plugin-errors';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin from '@pothos/plugin-relay';
import ScopeAuthPlugin from '@pothos/plugin-scope-auth';
import { GraphQLError, GraphQLID, GraphQLScalarType, Kind, type ValueNode } from 'graphql';
import { DateTimeResolver } from 'graphql-scalars';

import { requireScope, type Scope } from '../auth/scopes.ts';
import type PrismaTypes from '../database/generated/pothos.ts';
import { getDatamodel } from '../database/generated/pothos.ts';
import { DEFAULT_PAGE } from '../database/pages.ts';
import { Forbidden, Unauthenticated } from '../contract/errors.ts';
import type { CallContext } from '../context.ts';
import { type ListSize } from './cost.ts';
import { lifecyclePlugin } from './lifecycle.ts';
import { mutationsPlugin } from './mutations.ts';

const PAGE_SIZE: ListSize = {
  assumedSize: DEFAULT_PAGE,
  slicingArguments: ['first', 'last'],
  sizedFields: ['edges', 'nodes'],
  requireOneSlicingArgument: false,
};

/** What an input field costs that may go through many rows to find few. */
export const SEARCH_COST = { directives: { cost: { weight: '50' } } };

/** Every type of the schema is made with it. */
export const builder = new SchemaBuilder<{
  Context: CallContext;
  AuthScopes: { scope: Scope };
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
  plugins: [
    // Outermost first: errors become data, their codes are noted, scopes are asked for.
    ErrorsPlugin,
    mutationsPlugin,
    ScopeAuthPlugin,
    RelayPlugin,
    PrismaPlugin,
    lifecyclePlugin,
  ],
  defaultFieldNullability: false,
  prisma: { client: ({ store }) => store.db.prisma, dmmf: getDatamodel() },
  errors: {
    directResult: true,
    defaultTypes: [Unauthenticated, Forbidden],
    defaultUnionOptions: {
      name: ({ fieldName }) => `${fieldName[0]?.toUpperCase()}${fieldName.slice(1)}Result`,
      description: 'What the mutation made, changed or removed, or why it changed nothing.',
    },
  },
  scopeAuth: {
    authScopes: ({ caller }) => ({
      scope: (scope) => {
        requireScope(caller, scope);
        return true;
      },
    }),
  },
  relay: {
    defaultConnectionFieldOptions: {
      // A statement for all that ask for the same page, so that an alias may be one more.
      extensions: { directives: { cost: { weight: '5' }, listSize: PAGE_SIZE } },
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
    firstArgOptions: {
      description:
        'How many rows from the start: 20 by default, 0 to 100 unless the gateway allows others.',
    },
    afterArgOptions: { description: 'Only rows after this cursor.' },
    lastArgOptions: { description: 'How many rows from the end, instead of `first`.' },
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
    extensions: { directives: { cost: { weight: '50' } }, readsEveryRow: true },
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

builder.queryType({
  description:
    'Reading the store. Needs the scope `read` where the gateway asks who calls, unless reading is open there.',
});
builder.mutationType({
  description:
    'Changing the store; each mutation tells its errors as data. Who goes on from its answer to other rows is reading, and needs the scope of Query too.',
});
