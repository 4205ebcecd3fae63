import { InvalidCursor, InvalidInput } from '../contract/errors.ts';
import { decodeCursor, type Edge, RowEdge } from './cursor.ts';
import type { Database, Planning } from './database.ts';
import { Prisma } from './generated/prisma/client.ts';
import type { ListArguments, Listing, PageArguments, Parent } from './listing.ts';

/** The size of a page without `first` or `last`. */
export const DEFAULT_PAGE = 20;

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

/** Which rows belong to a page, as SQL. */
interface Window {
  readonly size: number;
  readonly backwards: boolean;
  readonly conditions: Prisma.Sql[];
  readonly order: Prisma.Sql;
}

const { sql, join, empty } = Prisma;

const sizeOf = ({ first, last }: PageArguments): number => first ?? last ?? DEFAULT_PAGE;

/** @throws InvalidInput if a page has both `first` and `last`, or more than `maxPage` rows */
export function requirePageSize(args: PageArguments, maxPage: number): void {
  if (args.first != null && args.last != null) {
    throw new InvalidInput([{ path: ['last'], message: 'cannot be combined with first.' }]);
  }
  const name = args.last == null ? 'first' : 'last';
  const size = sizeOf(args);
  if (size < 0 || size > maxPage) {
    throw new InvalidInput([{ path: [name], message: `must be between 0 and ${maxPage}.` }]);
  }
}

function toWindow<Row, Filter, Field extends string>(
  listing: Listing<Row, Filter, Field>,
  args: ListArguments<Filter, Field>,
): Window {
  const size = sizeOf(args);
  const backwards = args.last != null;
  const field = args.orderBy?.field ?? listing.defaultField;
  const descending = args.orderBy?.direction === 'DESC';
  const id = listing.id.sql;
  const key = listing.keys[field];
  const position = key ? sql`(${key.sql}, ${id})` : sql`(${id})`;

  const conditions = args.filter ? listing.where(args.filter) : [];
  for (const end of ['after', 'before'] as const) {
    const cursor = args[end];
    if (cursor == null) continue;
    const bound = decodeCursor(listing, field, cursor);
    if (!bound) {
      const message = 'is not a cursor of a list in this order.';
      throw new InvalidCursor([{ path: [end], message }]);
    }
    const later = (end === 'after') !== descending;
    conditions.push(later ? sql`${position} > ${bound}` : sql`${position} < ${bound}`);
  }

  const direction = descending === backwards ? sql`asc` : sql`desc`;
  const order = key ? sql`${key.sql} ${direction}, ${id} ${direction}` : sql`${id} ${direction}`;
  return { size, backwards, conditions, order };
}

// A plan for all values assumes that LIMIT is a tenth of the rows: to find a rare name it would scan a
// whole table in sort order.
const planningOf = (filter: unknown): Planning => (filter == null ? 'once' : 'each');

/** Returns the load of a page. A count is always heavy, as it reads every row that it counts. */
const loadOf = <Row, Filter, Field extends string>(
  { isSearch }: Listing<Row, Filter, Field>,
  filter: Filter | null | undefined,
): 'light' | 'heavy' => (filter != null && isSearch(filter) ? 'heavy' : 'light');

const whereAll = (conditions: Prisma.Sql[]): Prisma.Sql =>
  conditions.length > 0 ? sql`where ${join(conditions, ' and ')}` : empty;

/** Creates the page of a window from its rows and, if there is one, the row after them. */
function toPage<Row, Filter, Field extends string>(
  listing: Listing<Row, Filter, Field>,
  args: ListArguments<Filter, Field>,
  { size, backwards }: Window,
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
      hasNextPage: (!backwards && hasMore) || args.before != null,
      hasPreviousPage: (backwards && hasMore) || args.after != null,
      get startCursor() {
        return edges.at(0)?.cursor ?? null;
      },
      get endCursor() {
        return edges.at(-1)?.cursor ?? null;
      },
    },
  };
}

/**
 * Reads one page.
 * @throws InvalidInput, InvalidId, InvalidCursor
 */
export async function loadPage<Row, Filter, Field extends string>(
  db: Database,
  listing: Listing<Row, Filter, Field>,
  args: ListArguments<Filter, Field>,
): Promise<Page<Row>> {
  const window = toWindow(listing, args);
  const rows = await db.query<Row>(
    sql`
    select ${listing.columns} from ${listing.from} ${whereAll(window.conditions)}
    order by ${window.order} limit ${window.size + 1}`,
    planningOf(args.filter),
    loadOf(listing, args.filter),
  );
  return toPage(listing, args, window, rows);
}

/**
 * Reads the same page for each parent, in one statement.
 * @throws InvalidInput, InvalidId, InvalidCursor
 */
export async function loadPages<Row, Filter, Field extends string>(
  db: Database,
  listing: Listing<Row, Filter, Field>,
  parent: Parent<Row>,
  request: { ids: readonly bigint[]; args: ListArguments<Filter, Field> },
): Promise<Map<bigint, Page<Row>>> {
  const { ids, args } = request;
  const window = toWindow(listing, args);
  const conditions = [sql`${parent.sql} = parent.id`, ...window.conditions];
  const rows = await db.query<Row>(
    sql`
    select page.* from unnest(${ids}::bigint[]) as parent (id) cross join lateral (
      select ${listing.columns} from ${listing.from} ${whereAll(conditions)}
      order by ${window.order} limit ${window.size + 1}) as page`,
    planningOf(args.filter),
    loadOf(listing, args.filter),
  );
  const rowsOf = new Map<bigint, Row[]>(ids.map((id) => [id, []]));
  for (const row of rows) rowsOf.get(parent.of(row))?.push(row);
  return new Map([...rowsOf].map(([id, ownRows]) => [id, toPage(listing, args, window, ownRows)]));
}

/** Counts the rows that match a filter. */
export async function countRows<Row, Filter, Field extends string>(
  db: Database,
  listing: Listing<Row, Filter, Field>,
  filter: Filter | null | undefined,
): Promise<number> {
  const conditions = filter ? listing.where(filter) : [];
  const [row] = await db.query<{ count: bigint }>(
    sql`select count(*) from ${listing.from} ${whereAll(conditions)}`,
    planningOf(filter),
    'heavy',
  );
  return Number(row?.count);
}

/** Counts the rows of each parent that match a filter, in one statement. */
export async function countRowsOf<Row, Filter, Field extends string>(
  db: Database,
  listing: Listing<Row, Filter, Field>,
  parent: Parent<Row>,
  request: { ids: readonly bigint[]; filter: Filter | null | undefined },
): Promise<Map<bigint, number>> {
  const { ids, filter } = request;
  const conditions = [sql`${parent.sql} = any(${ids}::bigint[])`];
  if (filter) conditions.push(...listing.where(filter));
  const rows = await db.query<{ id: bigint; count: bigint }>(
    sql`
    select ${parent.sql} as id, count(*) from ${listing.from} ${whereAll(conditions)} group by 1`,
    planningOf(filter),
    'heavy',
  );
  const counts = new Map(rows.map(({ id, count }) => [id, Number(count)]));
  return new Map(ids.map((id) => [id, counts.get(id) ?? 0]));
}
