import SchemaBuilder, { type InputRef, type OutputRef } from '@pothos/core';
import ErrorsPlugin from '@pothos/plugin-errors';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin from '@pothos/plugin-relay';

import type { CallContext } from '../context.ts';
import {
  Forbidden,
  IdempotencyConflict,
  InvalidInput,
  Unauthenticated,
} from '../contract/gateway-error.ts';
import type { ReadGroups } from '../list/groups.ts';
import { upperFirst } from '../model/words.ts';
import type { ListPart } from './field-extensions.ts';
import { useMutationsPlugin } from './mutations.ts';
import { CURSOR_BYTES } from './sizes.ts';

/** The types of a store's builder. `Models` are those that Pothos' generator wrote. */
interface BuilderTypes<Models extends object, Context extends object = CallContext> {
  Context: Context;
  PrismaTypes: Models;
  Scalars: {
    ID: { Input: string; Output: bigint | string };
    DateTime: { Input: Date; Output: Date };
    Date: { Input: Date; Output: Date };
    BigInt: { Input: bigint; Output: bigint };
  };
  Connection: { readGroups: ReadGroups };
  DefaultFieldNullability: false;
  DefaultEdgesNullability: false;
  DefaultNodeNullability: false;
}

export type Builder<
  Models extends object = object,
  Context extends object = CallContext,
> = PothosSchemaTypes.SchemaBuilder<
  PothosSchemaTypes.ExtendDefaultTypes<BuilderTypes<Models, Context>>
>;

/** Refers to a type by its name, which Pothos finds when the schema is built. */
export const typeNamed = (name: string) =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  name as unknown as InputRef & OutputRef;

/** The errors of every mutation, with their codes. */
export const COMMON_ERRORS = [
  [InvalidInput, 'INVALID_INPUT'],
  [IdempotencyConflict, 'IDEMPOTENCY_CONFLICT'],
  [Unauthenticated, 'UNAUTHENTICATED'],
  [Forbidden, 'FORBIDDEN'],
] as const;

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

/** Creates the builder of Pothos for a store; `dmmf` is the datamodel that Pothos' generator wrote. */
export const createPothos = <Models extends object>(dmmf: { readonly datamodel: unknown }) =>
  new SchemaBuilder<BuilderTypes<Models>>({
    // The outermost plugin comes first, so errors become data last, after scopes are checked and error codes are logged.
    plugins: [ErrorsPlugin, useMutationsPlugin(), RelayPlugin, PrismaPlugin],
    defaultFieldNullability: false,
    prisma: { client: noClient, dmmf, exposeDescriptions: true },
    errors: {
      directResult: true,
      defaultTypes: COMMON_ERRORS.map(([type]) => type),
      defaultUnionOptions: {
        name: ({ fieldName }) => `${upperFirst(fieldName)}Result`,
        description: 'The object that the mutation created, changed or deleted, or an error.',
      },
    },
    relay: RELAY,
  });
