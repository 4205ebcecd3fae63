import sql, { empty, join, raw, type Sql } from 'sql-template-tag';

import type { Database } from '../database/database.ts';
import { columnsOf } from '../model/table.ts';
import { type Edge, RowEdge } from './cursor.ts';
import type { ListArguments, Listing, Parent } from './listing.ts';
import { createToWindow, type Window } from './window.ts';

export interface Page<Row> {
  readonly edges: Edge<Row>[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
}

const whereAll = (conditions: readonly Sql[]): Sql =>
  conditions.length > 0 ? sql`where ${join(conditions, ' and ')}` : empty;

/** Creates a page from its rows and the row after them, if there is one. */
function toPage<Row>(
  listing: Listing<Row>,
  args: ListArguments,
  { size, backwards, hasAfter, hasBefore }: Window,
  rows: Row[],
): Page<Row> {
  const hasMore = rows.length > size;
  const nodes = rows.slice(0, size);
  if (backwards) nodes.reverse();
  const field = args.orderBy?.field ?? listing.defaultField;
  const edges = nodes.map((node) => new RowEdge(listing, field, node));
  return {
    edges,
    pageInfo: {
      hasNextPage: (!backwards && hasMore) || hasBefore,
      hasPreviousPage: (backwards && hasMore) || hasAfter,
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
export function createReader<Row>(listing: Listing<Row>, parent?: Parent<Row>) {
  const toWindow = createToWindow(listing);
  const columns = columnsOf(listing.table);
  const from = raw(listing.table.name);
  const column = raw(parent?.column ?? '');

  const selectPage = (conditions: readonly Sql[], { readingOrder, size }: Window): Sql => sql`
    select ${columns} from ${from} ${whereAll(conditions)}
    order by ${readingOrder} ${raw(`limit ${size + 1}`)}`;

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
  ): Promise<Map<bigint, Page<Row>>> => {
    const window = toWindow(args);
    const statement = parent ? selectPages(ids, window) : selectPage(window.conditions, window);
    const rows = await db.query<Row>(statement, window);
    const rowsOf = new Map<bigint, Row[]>(ids.map((id) => [id, []]));
    for (const row of rows) rowsOf.get(parent?.of(row) ?? ALL_ROWS)?.push(row);
    return new Map([...rowsOf].map(([id, own]) => [id, toPage(listing, args, window, own)]));
  };

  /** Counts the rows of each parent that match a filter. A count is heavy, because it reads every row it counts. */
  const readCounts = async (
    db: Database,
    ids: readonly bigint[],
    filter: ListArguments['filter'],
  ): Promise<Map<bigint, number>> => {
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
    return new Map(ids.map((id) => [id, counts.get(id) ?? 0]));
  };

  return { toWindow, readPages, readCounts };
}
