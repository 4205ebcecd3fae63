import sql, { join, raw, type Sql } from 'sql-template-tag';
import { z } from 'zod';

import { MAX_LINES } from '../contract/parse.ts';
import type { Session } from '../database/session.ts';
import { toCell } from './inputs.ts';
import { type Field, type StoredTable, valueIn } from './stored-table.ts';
import { toJson } from './stored-value.ts';

/** Returns the rule for the lines of a mutation. No two lines may have the same value in the field that `id` names. */
export function linesOf<const Rule extends z.ZodType<object>>(rule: Rule, id?: string) {
  const array = z
    .array(rule)
    .min(1, 'must have at least one entry.')
    .max(MAX_LINES, `must have at most ${MAX_LINES} entries.`);
  if (id === undefined) return array;
  return array.superRefine((lines, context) => {
    const values = new Set<unknown>();
    for (const [index, line] of lines.entries()) {
      const value = valueIn(line, id);
      const message = 'must not repeat the value of an earlier entry.';
      if (values.has(value)) context.addIssue({ code: 'custom', path: [index, id], message });
      values.add(value);
    }
  });
}

/**
 * Returns SQL that selects the lines as rows, with their `index`, from a single parameter. `columns` contains the types
 * of the columns.
 */
export function rowsOfLines(
  columns: Readonly<Record<string, string>>,
  lines: readonly (readonly unknown[])[],
): Sql {
  const cells = Object.entries(columns).map(([name, type], cell) =>
    raw(`(cells->>${cell})::${type} as ${name}`),
  );
  return sql`
    select (index - 1)::integer as index, ${join(cells)}
    from json_array_elements(${toJson(lines)}::text::json) with ordinality as line (cells, index)`;
}

/** The name of a column among the lines. With `#`, it differs from the names that the statements add. */
const among = ({ ownColumn }: Field): string => `"#${ownColumn}"`;

/**
 * Returns the INSERT of several rows. The new ids follow the order of the rows, because `order by` is applied before
 * the id's default.
 */
export function insertLines<Row>(table: StoredTable<Row>, rows: readonly Partial<Row>[]): Sql {
  const fields = Object.values<Field>(table.fields).filter(({ name }) =>
    rows.some((row) => valueIn(row, name) !== undefined),
  );
  const names = fields.map(({ ownColumn }) => raw(ownColumn));
  const lines = rowsOfLines(
    Object.fromEntries(fields.map((field) => [among(field), field.kind.sqlType])),
    rows.map((row) => fields.map((field) => toCell(field, row))),
  );
  return sql`
    insert into ${raw(table.name)} (${join(names)})
    select ${raw(fields.map(among).join(', '))} from (${lines}) as lines
    order by index returning ${table.all}`;
}

/** Inserts several rows and returns them in the same order. */
export const insertRows =
  <Row>(table: StoredTable<Row>) =>
  ({ write }: Session, rows: readonly object[]): Promise<Row[]> => {
    // A new row contains values of the columns.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const insert = insertLines(table, rows as readonly Partial<Row>[]);
    return write<Row>(
      sql`with made as (${insert}) select * from made order by ${raw(`"${table.idField}"`)}`,
    );
  };

interface UpdateLine<Row> {
  readonly id: bigint;
  readonly data: Partial<Row>;
}

/** Returns the UPDATE of several rows. If the lines change nothing, it only reads the rows. */
export function updateLines<Row>(table: StoredTable<Row>, lines: readonly UpdateLine<Row>[]): Sql {
  const fields = Object.values<Field>(table.fields).filter(({ name }) =>
    lines.some(({ data }) => valueIn(data, name) !== undefined),
  );
  const columns = fields.flatMap((field) => [
    [among(field), field.kind.sqlType],
    [`has_${field.ownColumn}`, 'boolean'],
  ]);
  const rows = rowsOfLines(
    { line_id: 'bigint', ...Object.fromEntries(columns) },
    lines.map(({ id: lineId, data }) => [
      lineId,
      ...fields.flatMap((field) => [toCell(field, data), valueIn(data, field.name) !== undefined]),
    ]),
  );
  const changes = fields
    .map((field) => {
      const { ownColumn: column } = field;
      return `${column} = case when "#lines".has_${column} then ${among(field)} else target.${column} end`;
    })
    .join(', ');
  const from = raw(table.name);
  const isLine = sql`target.${raw(table.id.column)} = "#lines".line_id`;
  const update = sql`
    update ${from} as target set ${raw(changes)} from "#lines" where ${isLine}
    returning target.*, "#lines".index as "#index"`;
  const unchanged = sql`
    select target.*, "#lines".index as "#index" from ${from} as target join "#lines" on ${isLine}`;
  return sql`
    with "#lines" as materialized (${rows}), changed as (${changes ? update : unchanged})
    select ${table.all} from changed order by "#index"`;
}

/**
 * Locks the rows of the lines in the order of their ids (define-write.ts), and returns the ids that exist.
 *
 * The UPDATE is a statement of its own, because its snapshot has to be newer than the locks. With an older snapshot, it
 * would start from an old version of a row, and wait for every transaction that locks a version from there to the
 * newest; one of these may itself wait for the lock on the newest.
 */
export async function lockLines<Row>(
  { write }: Session,
  table: StoredTable<Row>,
  lines: readonly UpdateLine<Row>[],
): Promise<Set<bigint>> {
  const column = raw(table.id.column);
  const locked = await write<{ id: bigint }>(sql`
    select ${column} as id from ${raw(table.name)}
    where ${column} = any((select ${lines.map(({ id }) => id)}::bigint[])::bigint[])
    order by ${column} for no key update`);
  return new Set(locked.map(({ id }) => id));
}
