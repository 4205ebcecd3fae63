import sql, { empty, join, raw, type Sql } from 'sql-template-tag';

import type { Database } from '../database/database.ts';
import type { Recipient } from '../database/recipient.ts';
import { bindSource, createBatcher, type DataSource } from '../model/loaders.ts';
import { columnsOf, type Table } from '../model/stored-table.ts';
import { encodeCursor } from './cursor.ts';
import type { ListArguments, Listing, Parent } from './listing.ts';
import { createToWindow, type Window } from './window.ts';

/** A row and its cursor, which is encoded only when read. */
class Edge<Row> {
  readonly node: Row;
  readonly #encode: (row: Row) => string;

  constructor(node: Row, encode: (row: Row) => string) {
    this.node = node;
    this.#encode = encode;
  }

  get cursor(): string {
    return this.#encode(this.node);
  }
}

interface Page<Row> {
  readonly edges: Pick<Edge<Row>, 'cursor' | 'node'>[];
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
  sql`select ${columns} from ${from} order by ${readingOrder} ${raw(`limit ${count}`)}`;

/** Creates a page from its rows and the row after them, if there is one. */
function toPage<Row>(listing: Listing<Row>, window: Window, rows: Row[]): Page<Row> {
  const { field, size, backwards, hasNext, hasPrevious } = window;
  const nodes = rows.slice(0, size);
  if (backwards) nodes.reverse();
  const encode = (row: Row): string => encodeCursor(listing, field, row);
  const edges = nodes.map((node) => new Edge(node, encode));
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
 * Creates the functions that read a list: of all rows, or of the rows that belong to each parent, with one statement
 * for all parents.
 */
function createReader<Row>(listing: Listing<Row>, parent?: Parent<Row>) {
  const toWindow = createToWindow(listing);
  const columns = columnsOf(listing.table);
  const from = raw(listing.table.name);
  const column = raw(parent?.column ?? '');

  const selectPage = (conditions: readonly Sql[], window: Window): Sql =>
    selectRows(columns, sql`${from} ${whereAll(conditions)}`, window, window.size + 1);

  const selectPages = (ids: readonly bigint[], window: Window): Sql => {
    const page = selectPage([sql`${column} = "#parent".id`, ...window.conditions], window);
    return sql`
      select page.* from unnest((select ${ids}::bigint[])) as "#parent" (id)
      cross join lateral (${page}) as page`;
  };

  /**
   * Reads the page of each parent.
   * @throws InvalidInput, InvalidId, InvalidCursor
   */
  const readPages = async (
    db: Database,
    ids: readonly bigint[],
    args: ListArguments,
  ): Promise<(id: bigint) => Page<Row>> => {
    const window = toWindow(args);
    const statement = parent ? selectPages(ids, window) : selectPage(window.conditions, window);
    const rows = await db.query<Row>(statement, window);
    const rowsOf = new Map<bigint, Row[]>(ids.map((id) => [id, []]));
    for (const row of rows) rowsOf.get(parent?.of(row) ?? ALL_ROWS)?.push(row);
    return (id) => toPage(listing, window, rowsOf.get(id) ?? []);
  };

  /** Counts the rows of each parent that match a filter. A count is heavy, because it reads every row it counts. */
  const readCounts = async (
    db: Database,
    ids: readonly bigint[],
    filter: ListArguments['filter'],
  ): Promise<(id: bigint) => number> => {
    const { filters, planning } = toWindow({ filter });
    const statement = parent
      ? sql`select ${column} as id, count(*) from ${from}
          ${whereAll([sql`${column} = any(${ids}::bigint[])`, ...filters])} group by 1`
      : sql`select ${ALL_ROWS}::bigint as id, count(*) from ${from} ${whereAll(filters)}`;
    const rows = await db.query<{ id: bigint; count: bigint }>(statement, {
      planning,
      load: 'heavy',
    });
    const counts = new Map(rows.map(({ id, count }) => [id, Number(count)]));
    return (id) => counts.get(id) ?? 0;
  };

  return { toWindow, readPages, readCounts };
}

/** Loads a list or count of the rows that belong to a parent. */
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
  /** @throws InvalidInput, InvalidId, InvalidCursor */
  readonly toWindow: (args: object) => Window;
}

export interface ListLoaders<Row> {
  readonly source: ListSql;
  readonly loadPage: ListLoader<ListArguments, Page<Row>>;
  readonly loadCount: ListLoader<ListArguments['filter'], number>;
}

/** Creates the loaders of a list: of all rows, or of the rows that belong to a parent. */
export function pagesOf<Row>(
  listing: Listing<Row>,
  name = listing.table.name,
  parent?: Parent<Row>,
): ListLoaders<Row> {
  const { toWindow, readPages, readCounts } = createReader(listing, parent);
  return {
    source: { table: listing.table, toWindow, ...(parent && { parent: parent.column }) },
    loadPage: byParent(`${name}.pages`, readPages),
    loadCount: byParent(`${name}.counts`, readCounts),
  };
}
