import SchemaBuilder from '@pothos/core';
import ErrorsPlugin from '@pothos/plugin-errors';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin from '@pothos/plugin-relay';
import ScopeAuthPlugin from '@pothos/plugin-scope-auth';

import { requireScope, type Scope } from '../auth/scopes.ts';
import type { CallContext } from '../context.ts';
import { Forbidden, Unauthenticated } from '../contract/errors.ts';
import type PrismaTypes from '../database/generated/pothos.ts';
import { getDatamodel } from '../database/generated/pothos.ts';
import { mutationsPlugin } from './mutations.ts';
import { DateTime } from './scalars.ts';

/** The cost of an input field that may search many rows to find a few. */
export const SEARCH_COST = { directives: { cost: { weight: '300' } } };

/** The cost of a condition about the stock of pets: PostgreSQL may read the whole stock, even for few pets. */
export const STOCK_SEARCH_COST = { directives: { cost: { weight: '1000' } } };

/**
 * Pothos, configured once for all types of the schema. Of its Prisma plugin only the types are used:
 * not `t.relation` and `prismaField`, as all reads are SQL of the store (see database/database.ts).
 */
export const builder = new SchemaBuilder<{
  Context: CallContext;
  AuthScopes: { scope: Scope };
  PrismaTypes: PrismaTypes;
  Scalars: {
    ID: { Input: string; Output: bigint | string };
    DateTime: { Input: Date; Output: Date };
  };
  Connection: { totalCount: () => Promise<number> };
  DefaultFieldNullability: false;
  DefaultEdgesNullability: false;
  DefaultNodeNullability: false;
}>({
  plugins: [
    // Outermost first: errors become data, their codes are logged, scopes are checked.
    ErrorsPlugin,
    mutationsPlugin,
    ScopeAuthPlugin,
    RelayPlugin,
    PrismaPlugin,
  ],
  defaultFieldNullability: false,
  prisma: { client: ({ store }) => store.db.prisma, dmmf: getDatamodel() },
  errors: {
    directResult: true,
    defaultTypes: [Unauthenticated, Forbidden],
    defaultUnionOptions: {
      name: ({ fieldName }) => `${fieldName[0]?.toUpperCase()}${fieldName.slice(1)}Result`,
      description:
        'The object that the mutation created, changed or deleted, or the error that prevented it.',
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
    edgesFieldOptions: {
      nullable: false,
      description: 'The rows of this page, each with its cursor.',
    },
    nodeFieldOptions: { nullable: false, description: 'The row.' },
    nodesOnConnection: { description: 'The rows of this page.' },
    cursorFieldOptions: {
      description: 'The position of the row in this order, for `after` and `before`.',
    },
    pageInfoFieldOptions: {
      description: 'The position of this page in the list.',
      extensions: { directives: { cost: { weight: '20' } } },
    },
    pageInfoTypeOptions: { description: 'The position of a page in its list.' },
    hasNextPageFieldOptions: { description: 'Whether the list has rows after this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether the list has rows before this page.' },
    startCursorFieldOptions: {
      description: 'The cursor of the first row of the page, or null if the page is empty.',
    },
    endCursorFieldOptions: {
      description: 'The cursor of the last row of the page, or null if the page is empty.',
    },
    firstArgOptions: {
      description:
        'The number of rows from the start, 0 to 100 unless the operator set another limit; 20 by ' +
        'default.',
    },
    afterArgOptions: { description: 'Only rows after this cursor.' },
    lastArgOptions: { description: 'The number of rows from the end, instead of `first`.' },
    beforeArgOptions: { description: 'Only rows before this cursor.' },
    defaultConnectionTypeOptions: { description: 'A page of a list.' },
    defaultEdgeTypeOptions: { description: 'A row of a page, with its cursor.' },
    nodeQueryOptions: false,
    nodesQueryOptions: false,
  },
});

builder.addScalarType('DateTime', DateTime, {
  description:
    'A point in time (RFC 3339). Input needs an offset from UTC. Output is in UTC with milliseconds.',
});

builder.queryType({
  description:
    'Reads the store. Needs the scope `read` if the gateway requires tokens and reading is not open.',
});
builder.mutationType({
  description:
    'Changes the store. Expected errors are members of each result union. Selecting other rows of ' +
    'the result also needs the scope of Query.',
});
builder.subscriptionType({
  description:
    'Changes of the store as they happen, by Server-Sent Events or WebSocket at the same URL. Needs the ' +
    'scope of Query. Each change comes once, in the order of `Query.changes`; whoever was disconnected ' +
    'subscribes again with `after`.',
});
