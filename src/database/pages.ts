import { InvalidCursor, InvalidInput } from '../contract/errors.ts';
import { decodeCursor, type Edge, RowEdge } from './cursor.ts';
import type { Database, Planning } from './database.ts';
import { Prisma } from './generated/prisma/client.ts';
import type { ListArguments, Listing, PageArguments, Parent } from './listing.ts';

/** Rows of a page that doesn't say how many. */
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

/** Which rows a page shows, in the words of SQL. */
interface Window {
  readonly size: number;
  readonly backwards: boolean;
  readonly conditions: Prisma.Sql[];
  readonly order: Prisma.Sql;
}

const { sql, join, empty } = Prisma;

const sizeOf = ({ first, last }: PageArguments): number => first ?? last ?? DEFAULT_PAGE;

/** @throws InvalidInput where a page would have more than `maxPage` rows, or no one number of them. */
export function checkPage(args: PageArguments, maxPage: number): void {
  if (args.first != null && args.last != null) {
    throw new InvalidInput([{ path: ['last'], message: 'can not go with first.' }]);
  }
  const name = args.last == null ? 'first' : 'last';
  const size = sizeOf(args);
  if (size < 0 || size > maxPage) {
    throw new InvalidInput([{ path: [name], message: `has to be 0 to ${maxPage}.` }]);
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
  const place = key ? sql`(${key.sql}, ${id})` : sql`(${id})`;

  const conditions = args.filter ? listing.where(args.filter) : [];
  for (const end of ['after', 'before'] as const) {
    const cursor = args[end];
    if (cursor == null) continue;
    const limit = decodeCursor(listing, field, cursor);
    if (!limit) {
      const message = 'is not a cursor of a list with this order.';
      throw new InvalidCursor([{ path: [end], message }]);
    }
    const later = (end === 'after') !== descending;
    conditions.push(later ? sql`${place} > ${limit}` : sql`${place} < ${limit}`);
  }

  const direction = descending === backwards ? sql`asc` : sql`desc`;
  const order = key ? sql`${key.sql} ${direction}, ${id} ${direction}` : sql`${id} ${direction}`;
  return { size, backwards, conditions, order };
}

// One plan for any values would walk a whole table in its order for the one row with a rare name, as
// it takes any LIMIT for a tenth of the rows.
const planningOf = (filter: unknown): Planning => (filter == null ? 'once' : 'each');

/** How much reading a page takes; a count always reads every row that it counts. */
const loadOf = <Row, Filter, Field extends string>(
  { isSearch }: Listing<Row, Filter, Field>,
  filter: Filter | null | undefined,
): 'light' | 'heavy' => (filter != null && isSearch(filter) ? 'heavy' : 'light');

const whereAll = (conditions: Prisma.Sql[]): Prisma.Sql =>
  conditions.length > 0 ? sql`where ${join(conditions, ' and ')}` : empty;

/** Makes a page of the rows of a window, which were read with one more than it shows. */
function toPage<Row, Filter, Field extends string>(
  listing: Listing<Row, Filter, Field>,
  args: ListArguments<Filter, Field>,
  { size, backwards }: Window,
  rows: Row[],
): Page<Row> {
  const more = rows.length > size;
  const shown = rows.slice(0, size);
  if (backwards) shown.reverse();
  const field = args.orderBy?.field ?? listing.defaultField;
  const edges = shown.map((node) => new RowEdge(listing, field, node));
  return {
    edges,
    pageInfo: {
      hasNextPage: (!backwards && more) || args.before != null,
      hasPreviousPage: (backwards && more) || args.after != null,
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
 * Reads the same page of each parent, all in one statement.
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
  return new Map([...rowsOf].map(([id, own]) => [id, toPage(listing, args, window, own)]));
}

/** Counts the rows that a filter lets through. */
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

/** Counts the rows of each parent that a filter lets through, all in one statement. */
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
