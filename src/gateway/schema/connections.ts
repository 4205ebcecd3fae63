import type { InputRef, OutputRef } from '@pothos/core';
import pLimit from 'p-limit';

import type { CallContext } from '../context.ts';
import type { ListArguments } from '../tables/listing.ts';
import { ALL_ROWS, type ListRequest, type Pages } from '../tables/loaders.ts';
import { DEFAULT_PAGE } from '../tables/window.ts';
import type { Builder, StoreTypes } from './builder-types.ts';
import type { ListSize } from './cost-directives.ts';
import type { FieldSql } from './rows.ts';

/** How callers can filter and order a list. */
interface ListOptions<Filter, Field extends string> {
  readonly filter: InputRef<Filter>;
  /** What its rows are called. */
  readonly rows: string;
  readonly fields: Record<Field, { description: string }>;
  readonly defaultOrder?: string;
}

/** Defines what all lists have. */
export function defineLists<Types extends StoreTypes>(builder: Builder<Types>) {
  builder.globalConnectionField('totalCount', (t) =>
    t.int({
      description:
        'The number of rows in the whole list. They are counted only if this field is selected.',
      extensions: { directives: { cost: { weight: '200' } }, readsEveryRow: true },
      resolve: ({ totalCount }) => totalCount(),
    }),
  );

  const SortDirection = builder.enumType('SortDirection', {
    description: 'The direction of the order.',
    values: {
      ASC: { description: 'The smallest value comes first.' },
      DESC: { description: 'The largest value comes first.' },
    },
  });

  /** Creates the arguments of a list, with the input type `…Sort`. */
  function listArguments<Filter, Field extends string>(
    name: string,
    { filter, rows, fields, defaultOrder = 'by id' }: ListOptions<Filter, Field>,
  ) {
    const FieldEnum = builder.enumType(`${name}SortField`, {
      description: 'A field to order the list by.',
      values: fields,
    });
    const Sort = builder.inputType(`${name}Sort`, {
      description: 'The order of the list. Rows with equal values are ordered by id.',
      fields: (t) => ({
        field: t.field({ type: FieldEnum, required: true, description: 'The field to order by.' }),
        direction: t.field({
          type: SortDirection,
          required: true,
          defaultValue: 'ASC',
          description: 'The direction of the order.',
        }),
      }),
    });
    return builder.args((t) => ({
      filter: t.field({ type: filter, description: `Conditions for the ${rows}; all by default.` }),
      orderBy: t.field({
        type: Sort,
        description: `The order of the list; ${defaultOrder} by default.`,
      }),
    }));
  }

  /** Defines the types `…Connection` and `…Edge` of the lists of a type. */
  const connectionOf = <Row extends object>(type: OutputRef<Row>, name: string) =>
    builder.connectionObject({ type, name: `${name}Connection` }, { name: `${name}Edge` });

  return { listArguments, connectionOf };
}

// Statements for lists and counts that one request may run at a time, so that connections are left
// for other requests.
const MAX_STATEMENTS = 4;

const requests = new WeakMap<CallContext, ListRequest>();

/** Returns the request that all lists of a call share. */
function requestOf(context: CallContext): ListRequest {
  const { recipient } = context;
  const request = requests.get(context) ?? { limit: pLimit(MAX_STATEMENTS), recipient };
  requests.set(context, request);
  return request;
}

const PAGE_SIZE: ListSize = {
  assumedSize: DEFAULT_PAGE,
  slicingArguments: ['first', 'last'],
  sizedFields: ['edges', 'nodes'],
  requireOneSlicingArgument: false,
};

/** Resolves a field to a page of a list. */
const createPage =
  <Root extends object>(parentOf: (root: Root) => bigint) =>
  <Row, Filter, Field extends string>({
    source,
    loadPage,
    loadCount,
  }: Pages<Row, Filter, Field>) => ({
    extensions: {
      directives: { cost: { weight: '20' }, listSize: PAGE_SIZE },
      sql: { kind: 'page', source } satisfies FieldSql,
      checkArguments: (args: object) => void source.toWindow(args),
    },
    resolve: async (root: Root, args: ListArguments<Filter, Field>, context: CallContext) => {
      const parent = parentOf(root);
      const request = requestOf(context);
      const page = await loadPage(context.loaders, { parent, args }, request);
      const totalCount = (): Promise<number> =>
        loadCount(context.loaders, { parent, args: args.filter }, request);
      return { ...page, totalCount };
    },
  });

/** Resolves a field to a page of all rows. */
export const rootPage = createPage(() => ALL_ROWS);

/** Resolves a field to a page of the rows that belong to the parent row. */
export const nestedPage = createPage(({ id }: { id: bigint }) => id);
