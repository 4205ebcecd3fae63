import sql, { raw, type Sql } from 'sql-template-tag';
import { z } from 'zod';

import { Time, timeAsText } from '../../gateway/index.ts';

const LATEST = 'infinity';
const EARLIEST = '-infinity';
// As it is in the indexes.
const DATE = sql`coalesce(ship_date, 'infinity'::timestamptz)`;
// Not by way of text, which PostgreSQL would convert again for each row.
const CAST = sql`::timestamptz`;

/**
 * Sorts orders by date of shipment. An order without a date counts as the latest. So does one with `infinity`,
 * which only SQL can write; with `-infinity` it is the earliest.
 */
export const shipDateKey = {
  sql: DATE,
  of: ({ shipDate }: { shipDate: Date | null }): string => shipDate?.toISOString() ?? LATEST,
  asText: raw(
    `case when isfinite(ship_date) then ${timeAsText('ship_date')} else coalesce(ship_date::text, '${LATEST}') end`,
  ),
  text: z.iso
    .datetime({ precision: 3 })
    .refine((text) => Time.safeParse(new Date(text)).success)
    .or(z.enum([LATEST, EARLIEST])),
  cast: CAST,
};

/** Points in time from `from`, before `before`; a bound that is null or missing excludes nothing. */
export const TimeRange = z.object({ from: Time.nullish(), before: Time.nullish() });
type TimeRange = z.output<typeof TimeRange>;

/** Whether a range excludes any order. */
export const hasBound = (range: TimeRange | null | undefined): boolean =>
  (range?.from ?? range?.before) != null;

const time = (date: Date): Sql => sql`${date.toISOString()}${CAST}`;

/**
 * Returns the conditions for a date of shipment in a range; without bounds there are none. An order
 * without a date, or with an infinite one, is in no other range.
 *
 * Each bound is compared twice: the index has DATE, and PostgreSQL multiplies the shares of rows that it
 * expects. So it reads a short range by that index also if orders are sorted by id. Otherwise it would
 * expect the orders of a day all over the ids, and read all older orders before the first of them.
 */
export function isShippedIn(range: TimeRange | null | undefined): Sql[] {
  if (!range || !hasBound(range)) return [];
  const { from, before } = range;
  const isIn = (column: Sql): Sql[] => [
    ...(from ? [sql`${column} >= ${time(from)}`] : []),
    ...(before ? [sql`${column} < ${time(before)}`] : []),
  ];
  const isFinite = [
    ...(from ? [] : [sql`${DATE} > '-infinity'`]),
    ...(before ? [] : [sql`${DATE} < 'infinity'`]),
  ];
  return [...isIn(DATE), ...isFinite, ...isIn(sql`ship_date`)];
}
