import type { Part } from '../../kinds/kind.ts';
import type { Table } from '../../tables/table.ts';
import type { Window } from '../../tables/window.ts';
import { concatenate, orNull } from './json-sql.ts';

export const whereAll = (conditions: readonly string[]): string =>
  conditions.length > 0 ? ` where ${conditions.join(' and ')}` : '';

/** Returns SQL for the rows of a page. If the rows are numbered, it also selects the row after them, for `pageInfo`. */
export function writeRows(
  { name }: Table<never>,
  { size, readingOrder: { sql: order } }: Window,
  conditions: readonly string[],
  isNumbered: boolean,
): string {
  const rows = (limit: number): string =>
    `(select * from ${name}${whereAll(conditions)} order by ${order} limit ${limit})`;
  if (!isNumbered) return rows(size);
  return `(select *, row_number() over (order by ${order}) as number, count(*) over () as total from ${rows(size + 1)} as page)`;
}

export function writeList(
  json: readonly Part[],
  { size, order }: Window,
  isNumbered: boolean,
): readonly Part[] {
  const shown = isNumbered ? ` filter (where number <= ${size})` : '';
  const items = `string_agg(${concatenate(json)}, ',' order by ${order.sql})${shown}`;
  return ['[', { sql: `coalesce(${items}, '')` }, ']'];
}

export const writeCursor = ({ cursor }: Window): readonly Part[] => [
  '"',
  { sql: orNull([{ sql: cursor }], false) },
  '"',
];

export function writePageInfo(window: Window): Readonly<Record<string, string>> {
  const { size, backwards, hasAfter, hasBefore } = window;
  // The SQL always contains an aggregate, so that the page is one row. A row beyond the page is read only in the
  // reading direction.
  const hasMore = (isRead: boolean, isExcluded: boolean): string =>
    `(${isExcluded} or (${isRead} and count(*) > ${size}))::text`;
  const cursorOf = (number: string): string =>
    `coalesce(max(${concatenate(writeCursor(window))}) filter (where number = ${number} and number <= ${size}), 'null')`;
  const last = `least(total, ${size})`;
  return {
    hasNextPage: hasMore(!backwards, hasBefore),
    hasPreviousPage: hasMore(backwards, hasAfter),
    startCursor: cursorOf(backwards ? last : '1'),
    endCursor: cursorOf(backwards ? '1' : last),
  };
}
