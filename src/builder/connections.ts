import pLimit from 'p-limit';

import type { CallContext } from '../context.ts';
import type { ListArguments } from '../database/listing.ts';
import type { ListRequest, ListSource, Pages, PagesByParent } from '../database/loaders.ts';
import type { Page } from '../database/pages.ts';
import { DEFAULT_PAGE } from '../database/window.ts';
import { builder } from './builder.ts';
import type { ListSize } from './cost.ts';
import type { FieldSql } from './rows.ts';

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

/** Creates the input type `…Sort` of a list from the fields that it can be ordered by. */
export function sortInput<Field extends string>(
  name: string,
  fields: Record<Field, { description: string }>,
) {
  const FieldEnum = builder.enumType(`${name}SortField`, {
    description: 'A field to order the list by.',
    values: fields,
  });
  return builder.inputType(`${name}Sort`, {
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
}

/** A page. The rows of the whole list are counted only if `totalCount` is called. */
type ListConnection<Row> = Promise<Page<Row> & { totalCount: () => Promise<number> }>;

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

const extensionsOf = (source: ListSource) => ({
  directives: { cost: { weight: '20' }, listSize: PAGE_SIZE },
  sql: { kind: 'page', source } satisfies FieldSql,
  checkArguments: (args: object, maxPage: number) => void source.toWindow(args, maxPage),
});

/** Resolves a field to a page of a list. */
export function rootPage<Row, Filter, Field extends string>({
  source,
  pages,
  counts,
}: Pages<Row, Filter, Field>) {
  return {
    extensions: extensionsOf(source),
    resolve: async (
      _root: object,
      args: ListArguments<Filter, Field>,
      context: CallContext,
    ): ListConnection<Row> => {
      const request = requestOf(context);
      const page = await pages.load(context.store, args, request);
      return { ...page, totalCount: () => counts.load(context.store, args.filter, request) };
    },
  };
}

/** Resolves a field to a page of the rows that belong to the parent row. */
export function nestedPage<Row, Filter, Field extends string>({
  source,
  pages,
  counts,
}: PagesByParent<Row, Filter, Field>) {
  return {
    extensions: extensionsOf(source),
    resolve: async (
      { id: parent }: { id: bigint },
      args: ListArguments<Filter, Field>,
      context: CallContext,
    ): ListConnection<Row> => {
      const request = requestOf(context);
      const page = await pages.load(context.store, { parent, args }, request);
      return {
        ...page,
        totalCount: () => counts.load(context.store, { parent, args: args.filter }, request),
      };
    },
  };
}
