import SchemaBuilder, { type OutputRef } from '@pothos/core';
import ErrorsPlugin from '@pothos/plugin-errors';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin from '@pothos/plugin-relay';
import { specifiedDirectives } from 'graphql';

import {
  Forbidden,
  IdempotencyConflict,
  InvalidInput,
  Unauthenticated,
} from '../contract/gateway-error.ts';
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
import { defineDeleted, defineLinesField, defineRowFields } from './row-fields.ts';

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
    description: 'The items, each with its cursor.',
  },
  nodeFieldOptions: { nullable: false, description: 'The item.' },
  nodesOnConnection: { description: 'The items.' },
  cursorFieldOptions: {
    description: 'The position of the item in this order, for `after` and `before`.',
  },
  pageInfoFieldOptions: {
    description: 'Whether the list has more items, and the cursors to read them.',
    extensions: { directives: { cost: { weight: '20' } } },
  },
  pageInfoTypeOptions: {
    description: 'Whether a list has more items than these, and the cursors to read them.',
  },
  hasNextPageFieldOptions: { description: 'Whether the list has items after these.' },
  hasPreviousPageFieldOptions: { description: 'Whether the list has items before these.' },
  startCursorFieldOptions: {
    description: 'The cursor of the first item, or null if there is none.',
  },
  endCursorFieldOptions: {
    description: 'The cursor of the last item, or null if there is none.',
  },
  firstArgOptions: {
    description:
      'The number of items from the start, 0 to 100 unless the operator set another limit; 20 by ' +
      'default.',
  },
  afterArgOptions: { description: 'Only items after this cursor.' },
  lastArgOptions: { description: 'The number of items from the end, instead of `first`.' },
  beforeArgOptions: { description: 'Only items before this cursor.' },
  defaultConnectionTypeOptions: { description: 'Items of a list, in its order.' },
  defaultEdgeTypeOptions: { description: 'An item of a list, with its cursor.' },
  nodeQueryOptions: false,
  nodesQueryOptions: false,
} as const;

/** There is no client of Prisma: its plugin only gives the types, as all statements are SQL. */
function noClient(): never {
  throw new Error('Fields that Prisma resolves are not supported.');
}

/** Configures Pothos. */
const configure = <Types extends StoreTypes>(datamodel: Datamodel) =>
  new SchemaBuilder<BuilderTypes<Types>>({
    plugins: [
      // Outermost first: errors become data, and before that scopes are checked and codes are logged.
      ErrorsPlugin,
      useMutationsPlugin(),
      RelayPlugin,
      PrismaPlugin,
    ],
    defaultFieldNullability: false,
    prisma: { client: noClient, dmmf: datamodel, exposeDescriptions: true },
    errors: {
      directResult: true,
      defaultTypes: [InvalidInput, IdempotencyConflict, Unauthenticated, Forbidden],
      defaultUnionOptions: {
        name: ({ fieldName }) => `${fieldName[0]?.toUpperCase()}${fieldName.slice(1)}Result`,
        description:
          'The object that the mutation created, changed or deleted, or the error that prevented it.',
      },
    },
    relay: RELAY,
  });

/** Defines the types that every schema has. */
function defineRoots(builder: Builder, tables: Tables): void {
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
      'Changes the store. Expected errors are members of each result union. Selecting other objects of ' +
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
  // What is the same for every store needs none of its types.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const plain = builder as unknown as Builder;
  defineRoots(plain, tables);
  const { addErrors, defineErrorCodes } = defineErrors(plain);
  const { Node, addNode } = defineNodes(builder);
  const inputs = defineInputTypes(plain);
  const listsOf = defineLists(builder, inputs);
  const rowFieldsOf = defineRowFields(plain, inputs);
  const { addChanges, defineChangesQuery } = defineChanges(plain, inputs);
  return {
    builder,
    Node,
    newInputOf: inputs.newInputOf,
    deletedOf: defineDeleted(builder),
    linesField: defineLinesField(builder),
    /**
     * Defines the lists, the errors, the changes and the subscription of a type, and returns the options of the
     * fields that read and write its rows.
     */
    fieldsOf: <Row extends object>(type: OutputRef<Row>, rows: Repository<Row>) => {
      addErrors(rows.errors);
      addNode(rows);
      addChanges(type, rows);
      return { ...rowFieldsOf(type, rows), ...listsOf(type, rows) };
    },
    /** Returns the schema, and what else the gateway takes from the types. */
    createSchema: (): Pick<Store, 'schema' | 'changedTypes' | 'errorCodes'> => {
      const changedTypes = defineChangesQuery();
      const missing = Object.keys(tables).find((type) => !changedTypes.has(type));
      if (missing)
        throw new Error(`${missing} has no fields: the store must import its schema.ts.`);
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
