import type { OutputRef } from '@pothos/core';

import type { CallContext } from '../context.ts';
import { COUNT, countIn, type ReadGroups } from '../list/groups.ts';
import type { ListArguments } from '../list/listing.ts';
import { type ListLoaders, ALL_ROWS } from '../list/pages.ts';
import { DEFAULT_PAGE } from '../list/window.ts';
import type { Repository } from '../repository.ts';
import { listOf } from './cost-directives.ts';
import type { FieldSql } from './field-extensions.ts';
import type { InputTypes } from './input-types.ts';
import type { Builder } from './pothos.ts';

const PAGE_SIZE = listOf(DEFAULT_PAGE, ['first', 'last'], ['edges', 'nodes']).directives;

/** Returns a function that creates the options of a field with a page of the rows of a parent. */
export const createPage =
  <Root extends object>(parentOf: (root: Root) => bigint) =>
  <Row>({ sql: list, loadPage, loadGroups }: ListLoaders<Row>) => ({
    extensions: {
      directives: { cost: { weight: '20' }, ...PAGE_SIZE },
      sql: { kind: 'list', list } satisfies FieldSql,
      read: list.toWindow,
    },
    resolve: async (root: Root, args: ListArguments, { source, recipient }: CallContext) => {
      const parent = parentOf(root);
      const page = await loadPage(source, { parent, args }, recipient);
      const readGroups: ReadGroups = (select) =>
        loadGroups(source, { parent, args: { filter: args.filter, select } }, recipient);
      return { ...page, readGroups };
    },
  });

// A count reads every row it counts.
const COUNT_COST = { weight: '200' };

/** Creates the options of a field with the number of rows of a parent. */
export const createCount = <Row, Parent extends object>(
  { sql: list, loadGroups }: ListLoaders<Row>,
  parentOf: (parent: Parent) => bigint,
) => ({
  extensions: {
    directives: { cost: COUNT_COST },
    sql: { kind: 'count', list } satisfies FieldSql,
  },
  resolve: async (
    parent: Parent,
    _args: object,
    { source, recipient }: CallContext,
  ): Promise<number> => {
    const key = { parent: parentOf(parent), args: { select: COUNT } };
    return countIn(await loadGroups(source, key, recipient));
  },
});

export const rootPage = createPage(() => ALL_ROWS);

/** Defines the count that every list has. */
export function defineTotalCount(builder: Builder): void {
  builder.globalConnectionField('totalCount', (t) =>
    t.int({
      description: 'The number of items in the whole list, counted only if this field is selected.',
      extensions: { directives: { cost: COUNT_COST }, listPart: { kind: 'count' } },
      resolve: async ({ readGroups }) => countIn(await readGroups(COUNT)),
    }),
  );
}

/** Defines the types of a table's lists. */
export function defineList<Models extends object, Row extends object>(
  builder: Builder<Models>,
  type: OutputRef<Row>,
  repository: Repository<Row>,
  inputs: InputTypes,
) {
  const { words, filters, sorts } = repository;
  const { prefix, singular, plural } = words;
  const all = Object.keys(filters).length > 1 ? ` Each ${singular} must meet all of them.` : '';
  const about = `Conditions for a list of ${plural}.${all}`;
  const filter = inputs.filterOf(`${prefix}Filter`, about, 'list', repository);
  const [first] = Object.values(sorts);
  const defaultOrder = first?.description.replace(/^Order (.*)\.$/, '$1');
  return {
    args: builder.args((t) => ({
      ...(filter && {
        filter: t.field({
          type: filter,
          description: `Only ${plural} that meet these conditions.`,
        }),
      }),
      orderBy: t.field({
        type: inputs.sortOf(repository),
        description: `The order of the list. Default: ${defaultOrder}.`,
      }),
    })),
    connection: builder.connectionObject(
      { type, name: `${prefix}Connection` },
      { name: `${prefix}Edge` },
    ),
  };
}
