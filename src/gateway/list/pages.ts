import sql, { empty, join, raw, type Sql } from 'sql-template-tag';

import type { Database } from '../database/database.ts';
import type { Recipient } from '../database/recipient.ts';
import type { Effort } from '../database/session.ts';
import { bindSource, createBatcher, type DataSource } from '../model/loaders.ts';
import { columnsOf, type Table } from '../model/stored-table.ts';
import { encodeCursor } from './cursor.ts';
import type { Group } from './groups.ts';
import type { ListArguments, Listing } from './listing.ts';
import { createToWindow, type ToWindow, type Window } from './window.ts';

interface Page<Row> {
  readonly edges: { readonly node: Row; readonly cursor: string }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
}

const whereAll = (conditions: readonly Sql[]): Sql =>
  conditions.length > 0 ? sql`where ${join(conditions, ' and ')}` : empty;

/** Returns a SELECT of the first rows in the order in which a window is read. `from` includes the conditions. */
export const selectRows = (columns: Sql, from: Sql, { readingOrder }: Window, count: number): Sql =>
  sql`select ${columns} from ${from} order by ${readingOrder} limit ${raw(`${count}`)}`;

/** Creates a page from its rows and the row after them, if there is one. Cursors are encoded only when read. */
function toPage<Row>(listing: Listing<Row>, window: Window, rows: Row[]): Page<Row> {
  const { field, size, backwards, hasNext, hasPrevious } = window;
  const nodes = rows.slice(0, size);
  if (backwards) nodes.reverse();
  const edges = nodes.map((node) => ({
    node,
    get cursor() {
      return encodeCursor(listing, field, node);
    },
  }));
  const isRead = rows.length > size;
  return {
    edges,
    pageInfo: {
      hasNextPage: hasNext === 'if read' ? isRead : hasNext,
      hasPreviousPage: hasPrevious === 'if read' ? isRead : hasPrevious,
      get startCursor() {
        return edges.at(0)?.cursor ?? null;
      },
      get endCursor() {
        return edges.at(-1)?.cursor ?? null;
      },
    },
  };
}

/** Used as the parent's id in the list of all rows. */
export const ALL_ROWS = 0n;

/**
 * Creates the functions that read a list: of all rows, or of the rows whose column `parent` refers to each parent, with
 * one statement for all parents.
 */
function createReader<Row>(listing: Listing<Row>, parent?: string) {
  const toWindow = createToWindow(listing);
  const columns = columnsOf(listing.table);
  const from = raw(listing.table.name);
  const ofParent = parent === undefined ? undefined : { column: parent, id: '"#parent".id' };

  /** Runs a SELECT for each parent. Returns the function that returns the rows of a parent. */
  const readEach = async <Read>(
    db: Database,
    ids: readonly bigint[],
    select: Sql,
    effort: Effort,
  ): Promise<(id: bigint) => Read[]> => {
    const statement =
      parent === undefined
        ? select
        : sql`
          select "#parent".id as "#parent", page.*
          from unnest((select ${ids}::bigint[])) as "#parent" (id)
          cross join lateral (${select}) as page`;
    const rowsOf = new Map<bigint, Read[]>(ids.map((id) => [id, []]));
    for (const row of await db.query<Read & { readonly '#parent'?: bigint }>(statement, effort)) {
      rowsOf.get(row['#parent'] ?? ALL_ROWS)?.push(row);
    }
    return (id) => rowsOf.get(id) ?? [];
  };

  /**
   * Reads the page of each parent.
   * @throws InvalidInput, InvalidId, InputError with INVALID_CURSOR
   */
  const readPages = async (
    db: Database,
    ids: readonly bigint[],
    args: ListArguments,
  ): Promise<(id: bigint) => Page<Row>> => {
    const window = toWindow(args, db.samples, ofParent);
    const rows = sql`${from} ${whereAll(window.conditions)}`;
    const select = selectRows(columns, rows, window, window.size + 1);
    const rowsOf = await readEach<Row>(db, ids, select, window);
    return (id) => toPage(listing, window, rowsOf(id));
  };

  /** Reads the groups or the count of each parent's rows that match a filter. This is heavy, because it reads all of them. */
  const readGroups = async (
    db: Database,
    ids: readonly bigint[],
    { filter, select }: ListArguments & { readonly select: Sql },
  ): Promise<(id: bigint) => Group[]> => {
    const { filters, planning } = toWindow({ filter }, db.samples, ofParent);
    const rows = sql`select * from ${from} ${whereAll(filters)}`;
    const statement = sql`with "#row" as (${rows}) ${select}`;
    return readEach(db, ids, statement, { planning, load: 'heavy' });
  };

  return { toWindow, readPages, readGroups };
}

/** Loads a list of the rows, or its groups or count, that belong to a parent. */
type ListLoader<Args, Value> = (
  source: DataSource,
  key: { readonly parent: bigint; readonly args: Args },
  recipient: Recipient,
) => Promise<Value>;

/** All parents with equal arguments share a statement, which counts for the first of its requests. */
const byParent = <Args, Value>(
  name: string,
  read: (db: Database, ids: readonly bigint[], args: Args) => Promise<(id: bigint) => Value>,
): ListLoader<Args, Value> =>
  createBatcher<{ parent: bigint; args: Args }, Value>({
    groupBy: ({ args }) => JSON.stringify([args]),
    run: async (source, keys, recipients) => {
      source.observeBatch(name, keys.length);
      const [{ args }] = keys;
      const ids = keys.map(({ parent }) => parent);
      const valueOf = await recipients.lists.run('', () =>
        read(bindSource(source, recipients).db, [...new Set(ids)], args),
      );
      return ids.map(valueOf);
    },
  });

/** How to read a list with SQL outside the loaders. */
export interface ListSql {
  readonly table: Table<never>;
  /** The column that references the parent; undefined for the list of all rows. */
  readonly parent?: string;
  readonly toWindow: ToWindow;
}

export interface ListLoaders<Row> {
  readonly sql: ListSql;
  readonly loadPage: ListLoader<ListArguments, Page<Row>>;
  readonly loadGroups: ListLoader<ListArguments & { readonly select: Sql }, Group[]>;
}

/** Creates the loaders of a list: of all rows, or of the rows that belong to a parent. */
export function pagesOf<Row>(
  listing: Listing<Row>,
  name = listing.table.name,
  parent?: string,
): ListLoaders<Row> {
  const { toWindow, readPages, readGroups } = createReader(listing, parent);
  return {
    sql: { table: listing.table, toWindow, ...(parent && { parent }) },
    loadPage: byParent(`${name}.pages`, readPages),
    loadGroups: byParent(`${name}.counts`, readGroups),
  };
}
