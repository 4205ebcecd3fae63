import sql, { empty, join, raw, type Sql } from 'sql-template-tag';

import type { Database } from '../database/database.ts';
import { type Edge, RowEdge } from './cursor.ts';
import type { ListArguments, Listing, Parent } from './listing.ts';
import { columnsOf } from './table.ts';
import { createToWindow, type Window } from './window.ts';

/** One page of a connection. */
export interface Page<Row> {
  readonly edges: Edge<Row>[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
}

/** How a list is read, by itself or for each parent. */
export interface Reader<Row> {
  readonly listing: Listing<Row>;
  readonly toWindow: ReturnType<typeof createToWindow<Row>>;
  readonly columns: Sql;
  readonly from: Sql;
}

/** Creates the reader of a list. */
export const createReader = <Row>(listing: Listing<Row>): Reader<Row> => ({
  listing,
  toWindow: createToWindow(listing),
  columns: columnsOf(listing.table),
  from: raw(listing.table.name),
});

const whereAll = (conditions: readonly Sql[]): Sql =>
  conditions.length > 0 ? sql`where ${join(conditions, ' and ')}` : empty;

/** Creates the page of a window from its rows and, if there is one, the row after them. */
function toPage<Row>(
  { listing }: Reader<Row>,
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

const limitOf = ({ size }: Window): Sql => raw(`limit ${size + 1}`);

/**
 * Reads one page.
 * @throws InvalidInput, InvalidId, InvalidCursor
 */
export async function loadPage<Row>(
  db: Database,
  reader: Reader<Row>,
  args: ListArguments,
): Promise<Page<Row>> {
  const window = reader.toWindow(args);
  const { conditions, readingOrder, planning, load } = window;
  const rows = await db.query<Row>(
    sql`
    select ${reader.columns} from ${reader.from} ${whereAll(conditions)}
    order by ${readingOrder} ${limitOf(window)}`,
    planning,
    load,
  );
  return toPage(reader, args, window, rows);
}

/**
 * Reads the same page for each parent, in one statement.
 * @throws InvalidInput, InvalidId, InvalidCursor
 */
export async function loadPages<Row>(
  db: Database,
  reader: Reader<Row>,
  parent: Parent<Row>,
  request: { ids: readonly bigint[]; args: ListArguments },
): Promise<Map<bigint, Page<Row>>> {
  const { ids, args } = request;
  const window = reader.toWindow(args);
  const { readingOrder, planning, load } = window;
  const conditions = [sql`${raw(parent.column)} = parent.id`, ...window.conditions];
  const rows = await db.query<Row>(
    sql`
    select page.* from unnest((select ${ids}::bigint[])) as parent (id) cross join lateral (
      select ${reader.columns} from ${reader.from} ${whereAll(conditions)}
      order by ${readingOrder} ${limitOf(window)}) as page`,
    planning,
    load,
  );
  const rowsOf = new Map<bigint, Row[]>(ids.map((id) => [id, []]));
  for (const row of rows) rowsOf.get(parent.of(row) ?? 0n)?.push(row);
  return new Map([...rowsOf].map(([id, ownRows]) => [id, toPage(reader, args, window, ownRows)]));
}

/** Counts the rows that match a filter. A count is heavy, as it reads every row that it counts. */
export async function countRows<Row>(
  db: Database,
  { from, toWindow }: Reader<Row>,
  filter: ListArguments['filter'],
): Promise<number> {
  const { filters, planning } = toWindow({ filter });
  const [row] = await db.query<{ count: bigint }>(
    sql`select count(*) from ${from} ${whereAll(filters)}`,
    planning,
    'heavy',
  );
  return Number(row?.count);
}

/** Counts the rows of each parent that match a filter, in one statement. */
export async function countRowsOf<Row>(
  db: Database,
  { from, toWindow }: Reader<Row>,
  parent: Parent<Row>,
  request: { ids: readonly bigint[]; filter: ListArguments['filter'] },
): Promise<Map<bigint, number>> {
  const { ids, filter } = request;
  const { filters, planning } = toWindow({ filter });
  const column = raw(parent.column);
  const conditions = [sql`${column} = any(${ids}::bigint[])`, ...filters];
  const rows = await db.query<{ id: bigint; count: bigint }>(
    sql`select ${column} as id, count(*) from ${from} ${whereAll(conditions)} group by 1`,
    planning,
    'heavy',
  );
  const counts = new Map(rows.map(({ id, count }) => [id, Number(count)]));
  return new Map(ids.map((id) => [id, counts.get(id) ?? 0]));
}
