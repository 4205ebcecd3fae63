import SchemaBuilder, { type OutputRef, type SchemaTypes } from '@pothos/core';
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
import { toInvalidInput } from '../contract/parse.ts';
import type { Kind } from '../kinds/kind.ts';
import { KINDS } from '../kinds/kinds.ts';
import type { Repository } from '../repository.ts';
import type { Store } from '../store.ts';
import type { Builder, BuilderTypes, StoreBuilder, StoreTypes } from './builder-types.ts';
import { defineChanges } from './change-types.ts';
import { checkSizes } from './check-sizes.ts';
import { checkStore, requireListSizes } from './check-store.ts';
import { defineLists } from './connections.ts';
import { cost, listSize } from './cost-directives.ts';
import { defineErrors, defineLine } from './error-types.ts';
import type { ListPart } from './field-extensions.ts';
import { defineInputTypes } from './input-types.ts';
import { useMutationsPlugin } from './mutations.ts';
import { defineNodes } from './nodes.ts';
import { defineDeleted, defineLinesField, defineRowFields } from './row-fields.ts';
import { replaceId } from './scalars.ts';
import { CURSOR_BYTES, limitTexts, type Tables } from './text-sizes.ts';

/** The datamodel that Pothos' generator wrote. */
interface Datamodel {
  readonly datamodel: unknown;
}

/** What a store passes to create its builder, besides its types. */
interface BuilderOptions {
  readonly datamodel: Datamodel;
  /** The models, as described by prisma/tables.js. */
  readonly tables: Tables;
  /** The scopes that mutations can require. */
  readonly scopes: readonly string[];
  /** Further plugins of Pothos, by their names, each with the options of fields and types that it reads. */
  readonly plugins?: Plugins;
  /** The builder's options for these plugins. */
  readonly settings?: object;
}

type Plugins = Readonly<
  Partial<Record<keyof PothosSchemaTypes.Plugins<SchemaTypes>, readonly string[]>>
>;

// The options of @pothos/plugin-validation: what it rejects is returned as InvalidInput.
const VALIDATION = { validation: { validationError: toInvalidInput } };

const namesOf = (plugins: Plugins) =>
  // The type's keys are all known plugins.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  Object.keys(plugins) as (keyof Plugins)[];

const part = (listPart: ListPart) => ({ extensions: { listPart } });

const cursor = (listPart: ListPart) => ({ extensions: { listPart, maxBytes: CURSOR_BYTES } });

const RELAY = {
  edgesFieldOptions: {
    ...part({ kind: 'items' }),
    nullable: false,
    description: 'The items, each with its cursor.',
  },
  nodeFieldOptions: { ...part({ kind: 'object' }), nullable: false, description: 'The item.' },
  nodesOnConnection: { ...part({ kind: 'items' }), description: 'The items.' },
  cursorFieldOptions: {
    ...cursor({ kind: 'cursor' }),
    description: 'The position of the item in the list, to pass as `after` or `before`.',
  },
  pageInfoFieldOptions: {
    description: 'Whether the list has more items, and the cursors to fetch them.',
    extensions: { directives: { cost: { weight: '20' } }, listPart: { kind: 'object' } },
  },
  pageInfoTypeOptions: {
    description:
      'Whether the list has items before and after this page, and the cursors to fetch them.',
  },
  hasNextPageFieldOptions: {
    ...part({ kind: 'hasMore', isAfter: true }),
    description: 'Whether the list has items after this page.',
  },
  hasPreviousPageFieldOptions: {
    ...part({ kind: 'hasMore', isAfter: false }),
    description: 'Whether the list has items before this page.',
  },
  startCursorFieldOptions: {
    ...cursor({ kind: 'endCursor', isLast: false }),
    description: 'The cursor of the first item, or null if the page is empty.',
  },
  endCursorFieldOptions: {
    ...cursor({ kind: 'endCursor', isLast: true }),
    description: 'The cursor of the last item, or null if the page is empty.',
  },
  firstArgOptions: {
    description:
      'The maximum number of items to return from the start of the list: 0 to 100. Default: 20, ' +
      'unless `last` is set.',
  },
  afterArgOptions: { description: 'Only items after this cursor.' },
  lastArgOptions: {
    description:
      'The maximum number of items to return from the end of the list: 0 to 100. Cannot be ' +
      'combined with `first`.',
  },
  beforeArgOptions: { description: 'Only items before this cursor.' },
  defaultConnectionTypeOptions: { description: 'A page of a list.' },
  defaultEdgeTypeOptions: { description: 'An item of a list, and its cursor.' },
  nodeQueryOptions: false,
  nodesQueryOptions: false,
} as const;

/** No Prisma client is used: the plugin only provides types, because all statements are SQL. */
function noClient(): never {
  throw new Error('Fields that Prisma resolves are not supported.');
}

const configure = <Types extends StoreTypes>({
  datamodel,
  plugins = {},
  settings = {},
}: BuilderOptions) =>
  new SchemaBuilder<BuilderTypes<Types>>({
    ...VALIDATION,
    ...settings,
    plugins: [
      // The outermost plugin comes first, so errors become data last, after scopes are checked and error codes are
      // logged.
      ErrorsPlugin,
      useMutationsPlugin(),
      ...namesOf(plugins),
      RelayPlugin,
      PrismaPlugin,
    ],
    defaultFieldNullability: false,
    prisma: { client: noClient, dmmf: datamodel, exposeDescriptions: true },
    errors: {
      directResult: true,
      // The scope is checked before the arguments (mutations.ts), so callers without it learn nothing about them.
      unsafelyHandleInputErrors: true,
      defaultTypes: [InvalidInput, IdempotencyConflict, Unauthenticated, Forbidden],
      defaultUnionOptions: {
        name: ({ fieldName }) => `${fieldName[0]?.toUpperCase()}${fieldName.slice(1)}Result`,
        description: 'The object that the mutation created, changed or deleted, or an error.',
      },
    },
    relay: RELAY,
  });

/** Defines the types that every schema contains. */
function defineRoots(builder: Builder, tables: Tables): void {
  const types = Object.values(tables).flatMap(({ columns }) =>
    Object.values(columns).map(({ type }) => type),
  );
  // Changes have a time, so every schema needs DateTime.
  const used = new Set(['DateTime', ...types]);
  for (const [type, { graphql, scalar }] of Object.entries<Kind>(KINDS)) {
    // Every scalar's name is in BuilderTypes.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    if (scalar && used.has(type)) builder.addScalarType(graphql as 'DateTime', scalar, {});
  }

  builder.queryType({
    description:
      'Reads the store. Requires the scope `read`, unless the gateway allows reading without a token.',
  });
  builder.mutationType({
    description:
      'Changes the store. Each result is a union of the payload and the expected errors. ' +
      'Selecting related objects in the payload also requires the scope that `Query` requires.',
  });
  builder.subscriptionType({
    description:
      'Streams changes to the store as they happen. Available over Server-Sent Events and ' +
      'WebSocket, both at the URL of the GraphQL endpoint. Requires the same scope as `Query`. ' +
      'Each change is sent once, in the order of `Query.changes`. After a disconnect, ' +
      'resubscribe and pass the last cursor as `after`.',
  });
}

/**
 * Creates the Pothos builder of a store, and the functions that define its types. `createSchema` is called once all
 * types are defined.
 */
export function createBuilder<Types extends StoreTypes>(options: BuilderOptions) {
  const { tables, scopes, plugins = {} } = options;
  const builder = configure<Types>(options);
  // The parts that all stores share do not need a store's types.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const plain = builder as unknown as Builder;
  defineRoots(plain, tables);
  const { addErrors, defineErrorCodes } = defineErrors(plain);
  const addLine = defineLine(plain);
  const { Node, addNode } = defineNodes(builder);
  const inputs = defineInputTypes(plain);
  const listsOf = defineLists(builder, inputs);
  const rowFieldsOf = defineRowFields(plain, { ...inputs, addLine });
  const { addChanges, defineChangesQuery } = defineChanges(plain, inputs);
  return {
    // Only the types of its methods differ.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    builder: builder as unknown as StoreBuilder<Types>,
    Node,
    newInputOf: inputs.newInputOf,
    deletedOf: defineDeleted(builder),
    linesField: defineLinesField(builder),
    addLine,
    /**
     * Defines the lists, errors, changes and subscription of a type, and returns the options of the fields that read
     * and write its rows.
     */
    fieldsOf: <Row extends object>(type: OutputRef<Row>, rows: Repository<Row>) => {
      addErrors(rows.errors);
      addNode(rows);
      addChanges(type, rows);
      return { ...rowFieldsOf(type, rows), ...listsOf(type, rows) };
    },
    /** Returns the schema, and the other parts of the store that are derived from its types. */
    createSchema: (): Pick<Store, 'schema' | 'changedTypes' | 'errorCodes'> => {
      const changedTypes = defineChangesQuery();
      const missing = Object.keys(tables).find((type) => !changedTypes.has(type));
      if (missing)
        throw new Error(`${missing} has no fields: the store must import its schema.ts.`);
      const errorCodes = defineErrorCodes();
      // Fields are in the order of their definition, so each type starts with its id.
      const schema = replaceId(
        builder.toSchema({
          sortSchema: false,
          directives: [...specifiedDirectives, cost, listSize],
        }),
      );
      checkStore(schema, changedTypes, { options: Object.values(plugins).flat(), scopes });
      checkSizes(schema);
      limitTexts(schema, tables);
      requireListSizes(schema);
      return { schema, changedTypes, errorCodes };
    },
  };
}
