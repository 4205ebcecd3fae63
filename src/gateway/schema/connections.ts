import type { OutputRef } from '@pothos/core';

import type { CallContext } from '../context.ts';
import type { ListLoaders } from '../list/list-loaders.ts';
import type { ListArguments } from '../list/listing.ts';
import { ALL_ROWS } from '../list/pages.ts';
import { DEFAULT_PAGE } from '../list/window.ts';
import type { Repository } from '../repository.ts';
import type { Builder, StoreTypes } from './builder-types.ts';
import type { FieldSql, ListSize } from './field-extensions.ts';
import type { defineInputTypes } from './input-types.ts';

const PAGE_SIZE: ListSize = {
  assumedSize: DEFAULT_PAGE,
  slicingArguments: ['first', 'last'],
  sizedFields: ['edges', 'nodes'],
  requireOneSlicingArgument: false,
};

const createPage =
  <Root extends object>(parentOf: (root: Root) => bigint) =>
  <Row>({ source, loadPage, loadCount }: ListLoaders<Row>) => ({
    extensions: {
      directives: { cost: { weight: '20' }, listSize: PAGE_SIZE },
      sql: { kind: 'list', source } satisfies FieldSql,
      checkArguments: (args: object) => void source.toWindow(args),
    },
    resolve: async (root: Root, args: ListArguments, { source: reads, recipient }: CallContext) => {
      const parent = parentOf(root);
      const page = await loadPage(reads, { parent, args }, recipient);
      const totalCount = (): Promise<number> =>
        loadCount(reads, { parent, args: args.filter }, recipient);
      return { ...page, totalCount };
    },
  });

// A count reads every row it counts.
const COUNT_COST = { weight: '200' };

const createCount = <Row, Parent extends object>(
  { source, loadCount }: ListLoaders<Row>,
  parentOf: (parent: Parent) => bigint,
) => ({
  extensions: {
    directives: { cost: COUNT_COST },
    sql: { kind: 'count', source } satisfies FieldSql,
  },
  resolve: (parent: Parent, _args: object, context: CallContext): Promise<number> =>
    loadCount(context.source, { parent: parentOf(parent), args: undefined }, context.recipient),
});

/** Resolves a field to a page of all rows. */
export const rootPage = createPage(() => ALL_ROWS);

/** Defines the sort directions, and returns a function that defines the sort input of a table. */
function defineSorts<Types extends StoreTypes>(builder: Builder<Types>) {
  const SortDirection = builder.enumType('SortDirection', {
    description: 'The sort direction.',
    values: {
      ASC: { description: 'Smallest value first.' },
      DESC: { description: 'Largest value first.' },
    },
  });

  return ({ words: { prefix }, sorts }: Repository) =>
    builder.inputType(`${prefix}Sort`, {
      description: 'The order of the list. Items with equal values are sorted by id.',
      fields: (t) => ({
        field: t.field({
          type: builder.enumType(`${prefix}SortField`, {
            description: 'A field to sort the list by.',
            values: Object.fromEntries(
              Object.entries(sorts).map(([name, { description }]) => [name, { description }]),
            ),
          }),
          required: true,
          description: 'The field to sort by.',
        }),
        direction: t.field({
          type: SortDirection,
          required: true,
          defaultValue: 'ASC',
          description: 'The sort direction.',
        }),
      }),
    });
}

function defineTotalCount<Types extends StoreTypes>(builder: Builder<Types>): void {
  builder.globalConnectionField('totalCount', (t) =>
    t.int({
      description: 'The number of items in the whole list, counted only if this field is selected.',
      extensions: { directives: { cost: COUNT_COST }, listPart: { kind: 'count' } },
      resolve: ({ totalCount }) => totalCount(),
    }),
  );
}

/** Defines the fields that all lists share, and returns a function that defines the lists of a type. */
export function defineLists<Types extends StoreTypes>(
  builder: Builder<Types>,
  { filterOf }: ReturnType<typeof defineInputTypes>,
) {
  defineTotalCount(builder);
  const sortOf = defineSorts(builder);

  /** Defines the list types of a table, and returns the options of its list fields. */
  return <Row extends object>(type: OutputRef<Row>, rows: Repository<Row>) => {
    const { words, filters, sorts, pages, pagesBy } = rows;
    const { prefix } = words;
    const isLong = Object.keys(filters).length > 1;
    const all = isLong ? ` Each ${words.short} must meet all of them.` : '';
    const conditions = `Conditions for a list of ${words.list}.${all}`;
    const filter = filterOf(`${prefix}Filter`, conditions, 'list', rows);
    const sort = sortOf(rows);
    const [first] = Object.values(sorts);
    const defaultOrder = first?.description.replace(/^Order (.*)\.$/, '$1');
    const args = builder.args((t) => ({
      ...(filter && {
        filter: t.field({
          type: filter,
          description: `Only ${words.all} that meet these conditions.`,
        }),
      }),
      orderBy: t.field({
        type: sort,
        description: `The order of the list. Default: ${defaultOrder}.`,
      }),
    }));
    const connection = builder.connectionObject(
      { type, name: `${prefix}Connection` },
      { name: `${prefix}Edge` },
    );
    const description = `The list of ${words.list}.`;
    return {
      /** The options of a field with the list of all rows. */
      list: [{ type, args, description, ...rootPage(pages) }, connection] as const,
      /** Returns the options of a field with the list of rows that refer to the parent row. */
      listBy: <Parent extends object>(
        { id }: Repository<Parent>,
        field: keyof Row & string,
        text: string,
      ) => {
        const page = createPage((parent: Parent) => id.of(parent))(pagesBy(field));
        return [{ type, args, description: text, ...page }, connection] as const;
      },
      /** Returns the options of an Int field with the number of rows that refer to the parent row. */
      countBy: <Parent extends object>(
        { id }: Repository<Parent>,
        field: keyof Row & string,
        text: string,
      ) => ({
        description: text,
        ...createCount(pagesBy(field), (parent: Parent) => id.of(parent)),
      }),
    };
  };
}
