import SchemaBuilder, { type OutputRef } from '@pothos/core';
import ErrorsPlugin from '@pothos/plugin-errors';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin from '@pothos/plugin-relay';
import ScopeAuthPlugin from '@pothos/plugin-scope-auth';
import { specifiedDirectives } from 'graphql';

import { requireScope } from '../auth/scopes.ts';
import { Forbidden, Unauthenticated } from '../contract/gateway-error.ts';
import type { Kind } from '../kinds/kind.ts';
import { KINDS } from '../kinds/kinds.ts';
import type { Store } from '../store.ts';
import type { Repository } from '../tables/repository.ts';
import type { Builder, BuilderTypes, StoreTypes } from './builder-types.ts';
import { defineChanges } from './change-types.ts';
import { defineLists } from './connections.ts';
import { cost, listSize } from './cost-directives.ts';
import { defineErrors } from './error-types.ts';
import { defineInputTypes } from './input-types.ts';
import { useMutationsPlugin } from './mutations.ts';
import './scalars.ts';
import { defineNodes } from './nodes.ts';
import { defineRowFields } from './row-fields.ts';

/** What Pothos' generator wrote about the models of a store. */
interface Datamodel {
  readonly datamodel: unknown;
}

/** What prisma/tables.js wrote of the models of a store. */
type Tables = Readonly<
  Record<string, { readonly columns: Readonly<Record<string, { readonly type: string }>> }>
>;

/** What a store makes its builder from, besides its types. */
interface BuilderOptions {
  /** Pothos' datamodel of its models. */
  readonly datamodel: Datamodel;
  /** What prisma/tables.js wrote of its models. */
  readonly tables: Tables;
}

const RELAY = {
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
} as const;

/** Configures Pothos. Of its Prisma plugin only the types are used, as all reads are SQL (database/database.ts). */
const configure = <Types extends StoreTypes>(datamodel: Datamodel) =>
  new SchemaBuilder<BuilderTypes<Types>>({
    plugins: [
      // Outermost first: errors become data, their codes are logged, scopes are checked.
      ErrorsPlugin,
      useMutationsPlugin(),
      ScopeAuthPlugin,
      RelayPlugin,
      PrismaPlugin,
    ],
    defaultFieldNullability: false,
    prisma: {
      client: ({ loaders }) => loaders.db.prisma,
      dmmf: datamodel,
      exposeDescriptions: true,
    },
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
    relay: RELAY,
  });

/** Defines the types that every schema has. */
function defineRoots<Types extends StoreTypes>(builder: Builder<Types>, tables: Tables): void {
  const types = Object.values(tables).flatMap(({ columns }) =>
    Object.values(columns).map(({ type }) => type),
  );
  // Changes have a time.
  const used = new Set(['DateTime', ...types]);
  for (const [type, { graphql, scalar }] of Object.entries<Kind>(KINDS)) {
    // The name of a scalar is one of those in BuilderTypes.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    if (scalar && used.has(type)) builder.addScalarType(graphql as 'DateTime', scalar, {});
  }

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
}

/**
 * Creates the Pothos builder of a store, and what its types are defined with besides it. `createSchema` is
 * called when all types are defined.
 */
export function createBuilder<Types extends StoreTypes>({ datamodel, tables }: BuilderOptions) {
  const builder = configure<Types>(datamodel);
  defineRoots(builder, tables);
  const { addErrors, defineErrorCodes } = defineErrors(builder);
  const { Node, addNode } = defineNodes(builder);
  const inputs = defineInputTypes(builder);
  const listsOf = defineLists(builder, inputs);
  const rowFieldsOf = defineRowFields(builder, inputs);
  const { follow, defineChangesQuery } = defineChanges(builder, inputs);
  return {
    builder,
    Node,
    newInputOf: inputs.newInputOf,
    /** Defines the lists and the errors of a type, and returns the options of the fields that read, write and follow its rows. */
    fieldsOf: <Row extends object>(type: OutputRef<Row>, rows: Repository<Row>) => {
      addErrors(rows.errors);
      addNode(rows);
      return {
        ...rowFieldsOf(type, rows),
        ...listsOf(type, rows),
        /** Defines the subscription to the changes of its rows. */
        follow: (subscription: string) => follow(type, rows, subscription),
      };
    },
    /** Returns the schema, and what else the gateway takes from the types. */
    createSchema: (): Pick<Store, 'schema' | 'changedTypes' | 'errorCodes'> => {
      const changedTypes = defineChangesQuery();
      const errorCodes = defineErrorCodes();
      // In the order of definition, so that a type begins with its id.
      const schema = builder.toSchema({
        sortSchema: false,
        directives: [...specifiedDirectives, cost, listSize],
      });
      return { schema, changedTypes, errorCodes };
    },
  };
}
