import sql, { raw, type Sql } from 'sql-template-tag';
import { z } from 'zod';

import { parse } from '../contract/parse.ts';
import type { RangeType } from '../kinds/kind.ts';
import { TEXT } from '../kinds/text.ts';
import type { IdBounds } from './listing.ts';
import type { Field } from './stored-table.ts';
import type { Table } from './table.ts';

/** A condition for a column of a recorded row: in JavaScript for live changes, in SQL for older ones. */
export interface RecordedCondition {
  readonly column: string;
  /** The text of a row that was recorded before the column existed. */
  readonly initial: string | null;
  readonly accepts: (recorded: string) => boolean;
  readonly toSql: (recorded: Sql) => Sql;
}

/** The row that a condition is about, if it is a related one. */
interface Related {
  readonly table: Table<never>;
  /** The column that has its id. */
  readonly by: string;
}

/** A condition with its value. */
export interface Given {
  readonly of?: Related;
  readonly where: (idBounds: IdBounds) => readonly Sql[];
  /** Whether it may scan many rows to find few. */
  readonly isSearch: boolean;
  /** Whether the best plan depends on the value. */
  readonly isSkewed: boolean;
  /** Whether the value stands in the text of the statement, which PostgreSQL plans for each. */
  readonly isConstant: boolean;
  readonly recorded?: RecordedCondition;
}

/** What the filters of the schema say of a condition. Without a text it is not in that filter. */
interface Descriptions {
  /** In the filter of lists. */
  readonly list?: string;
  /** In the filter of changes. */
  readonly changes?: string;
}

/** A condition that callers can set: all that the gateway knows of it. */
export interface Condition extends Descriptions {
  /** The type of its value in GraphQL: a scalar or an enum, or a range. */
  readonly type: string | RangeType;
  readonly isList: boolean;
  /** Validates the value, and returns the condition with it. */
  readonly rule: z.ZodType<Given>;
  /** The cost of the argument. */
  readonly cost?: string;
  /** The index that would serve the condition, if its table lacks it. */
  readonly missingIndex?: string | undefined;
}

export type Conditions = Readonly<Record<string, Condition>>;

// It may search many rows to find a few.
const SEARCH_COST = '300';

/** Returns the index for the values of a column, if its table lacks it. */
export const missingIndex = ({ isIndexed, column }: Field): string | undefined =>
  isIndexed ? undefined : `an index that begins with ${column}`;

const plain = { isSearch: false, isSkewed: false, isConstant: false } as const;

const textOf = (value: unknown): string => String(value);

const recordedAmong = (field: Field, values: readonly unknown[]): RecordedCondition => {
  const texts = new Set(values.map(textOf));
  const list = [...texts];
  return {
    column: field.ownColumn,
    initial: field.initial,
    accepts: (recorded) => texts.has(recorded),
    toSql: (recorded) => sql`${recorded} = any(${list}::text[])`,
  };
};

/** Whether there are so few values that PostgreSQL plans for each of them. */
const hasFewValues = ({ kind }: Field): boolean =>
  kind.sqlType.startsWith('text::') || kind.sqlType === 'boolean';

/** A single one is compared with `=`: an index then gives the order. */
function isAmongConstants({ column }: Field, values: readonly unknown[]): Sql {
  const literals = [...new Set(values.map(textOf))].toSorted().map((value) => `'${value}'`);
  if (literals.length === 0) return sql`false`;
  return raw(
    literals.length === 1
      ? `${column} = ${literals.join('')}`
      : `${column} in (${literals.join(', ')})`,
  );
}

/** One text, so that requests with different ids can share a statement, in a subquery, so that PostgreSQL does not plan each time for their number. */
function isAmongValues({ column, kind }: Field, values: readonly unknown[]): Sql {
  const list = `{${values.map((value) => textOf(kind.toParameter(value))).join(',')}}`;
  const type = raw(kind.sqlType);
  return sql`${raw(column)} = any((select ${list}::text::${type}[])::${type}[])`;
}

/** One of some values; none matches an empty list. For ids and enums. */
export const oneOf = (field: Field, descriptions: Descriptions): Condition => ({
  ...descriptions,
  type: field.kind.graphql,
  isList: true,
  missingIndex: missingIndex(field),
  rule: z.array(field.rule).transform((values) => {
    const isConstant = hasFewValues(field);
    const where = isConstant ? isAmongConstants(field, values) : isAmongValues(field, values);
    return { ...plain, isConstant, where: () => [where], recorded: recordedAmong(field, values) };
  }),
});

/** One value. */
export const value = (field: Field, descriptions: Descriptions): Condition => ({
  ...descriptions,
  type: field.kind.graphql,
  isList: false,
  missingIndex: missingIndex(field),
  rule: field.rule.transform((wanted) => {
    const isConstant = hasFewValues(field);
    const where = isConstant
      ? isAmongConstants(field, [wanted])
      : sql`${raw(field.column)} = ${field.kind.toParameter(wanted)}`;
    return { ...plain, isConstant, where: () => [where], recorded: recordedAmong(field, [wanted]) };
  }),
});

// PostgreSQL folds the text of a row again for each condition, so further words are one condition.
const INDEXED_WORDS = 3;

/**
 * Words, or parts of words, in any order, without regard to case and accents; `%`, `_` and `\` have no special meaning.
 * The index of trigrams finds the rows that contain the longest ones.
 */
export const words = (field: Field, descriptions: Descriptions): Condition => ({
  ...descriptions,
  type: field.kind.graphql,
  isList: false,
  cost: SEARCH_COST,
  rule: TEXT.part(field).transform((text) => {
    const patterns = text
      .split(/\s+/)
      .filter((word) => word !== '')
      .toSorted((a, b) => b.length - a.length)
      .map((word) => `%${word.replaceAll(/[\\%_]/g, '\\$&')}%`);
    const others = patterns.slice(INDEXED_WORDS);
    const folded = sql`folded(${raw(field.column)})`;
    return {
      ...plain,
      isSearch: true,
      isSkewed: true,
      where: () => [
        ...patterns
          .slice(0, INDEXED_WORDS)
          .map((pattern) => sql`${folded} like folded(${pattern})`),
        ...(others.length > 0
          ? [sql`${folded} like all(string_to_array(folded(${others.join(' ')}), ' '))`]
          : []),
      ],
    };
  }),
});

const bound =
  (operator: '>=' | '<=', accepts: (recorded: number, limit: number) => boolean) =>
  (field: Field, descriptions: Descriptions): Condition => ({
    ...descriptions,
    type: field.kind.graphql,
    isList: false,
    cost: SEARCH_COST,
    rule: z.int().transform((limit) => ({
      ...plain,
      isSkewed: true,
      where: () => [sql`${raw(field.column)} ${raw(operator)} ${limit}`],
      recorded: {
        column: field.ownColumn,
        initial: field.initial,
        accepts: (recorded) => accepts(Number(recorded), limit),
        toSql: (recorded) => sql`${recorded}::bigint ${raw(operator)} ${limit}::bigint`,
      },
    })),
  });

/** A number that is at least this. */
export const min = bound('>=', (recorded, limit) => recorded >= limit);

/** A number that is at most this. */
export const max = bound('<=', (recorded, limit) => recorded <= limit);

/**
 * A time or a day in a range: from `from`, before `before`. A row without one, or with an infinite one, is in no
 * range; a range without bounds excludes nothing.
 *
 * Each bound is compared twice: the index has the sort key, and PostgreSQL multiplies the shares of rows that it
 * expects. So it reads a short range by that index also if rows are sorted by id. Otherwise it would
 * expect the rows of a day all over the ids, and read all older ones before the first of them.
 */
export function range(
  { column, kind, isNullable, rule }: Field,
  descriptions: Descriptions,
): Condition {
  if (!kind.range) throw new Error(`${column} has no range.`);
  const key = raw(kind.sort.sql(column, isNullable));
  const toBound = (limit: unknown): Sql =>
    sql`${kind.toParameter(limit)}${raw(`::${kind.sqlType}`)}`;
  return {
    ...descriptions,
    type: { ...kind.range, of: kind.graphql },
    isList: false,
    cost: SEARCH_COST,
    rule: z
      .object({ from: rule.nullish(), before: rule.nullish() })
      .transform(({ from, before }) => {
        const isBound = (from ?? before) != null;
        const isIn = (by: Sql): Sql[] => [
          ...(from == null ? [] : [sql`${by} >= ${toBound(from)}`]),
          ...(before == null ? [] : [sql`${by} < ${toBound(before)}`]),
        ];
        const isFinite = [
          ...(from == null ? [sql`${key} > '-infinity'`] : []),
          ...(before == null ? [sql`${key} < 'infinity'`] : []),
        ];
        return {
          ...plain,
          isSearch: isBound,
          isSkewed: isBound,
          where: () => (isBound ? [...isIn(key), ...isFinite, ...isIn(raw(column))] : []),
        };
      }),
  };
}

/** A condition for the row that the field `by` refers to. Give those of one list the same `of`. */
export const related = (
  of: Related,
  { rule, changes: _changes, missingIndex: _index, ...condition }: Condition,
): Condition => ({
  ...condition,
  cost: SEARCH_COST,
  rule: rule.transform(({ where, isConstant }) => ({
    of,
    where,
    isConstant: false,
    isSearch: true,
    isSkewed: !isConstant,
  })),
});

/** Any other condition, in SQL: a search, for each value of which PostgreSQL makes a plan. */
export const search = <Value>(
  {
    type,
    rule,
    cost,
    where,
  }: {
    type: string;
    rule: z.ZodType<Value>;
    cost: string;
    where: (wanted: Value, idBounds: IdBounds) => Sql;
  },
  descriptions: Descriptions,
): Condition => ({
  ...descriptions,
  type,
  isList: false,
  cost,
  rule: rule.transform((wanted) => ({
    ...plain,
    isSearch: true,
    isSkewed: true,
    where: (idBounds) => [where(wanted, idBounds)],
  })),
});

/** Creates the function that validates a filter of lists or of changes. It throws InvalidId or InvalidInput. */
export function readConditions(
  conditions: Conditions,
  place: keyof Descriptions,
): (filter: object) => Given[] {
  const shape = Object.entries(conditions).flatMap(([name, condition]) =>
    condition[place] === undefined ? [] : [[name, condition.rule.nullish()] as const],
  );
  const rule = z.object(Object.fromEntries(shape));
  return (filter) => Object.values(parse(rule, filter, 'filter')).filter((given) => given != null);
}
