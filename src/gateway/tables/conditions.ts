import sql, { raw, type Sql } from 'sql-template-tag';
import { z } from 'zod';

import { parse } from '../contract/parse.ts';
import type { RangeType } from '../kinds/kind.ts';
import { TEXT } from '../kinds/text.ts';
import type { IdBounds } from './listing.ts';
import {
  recordedAmong,
  recordedOf,
  type RecordedCondition,
  type Related,
  textOf,
} from './recorded.ts';
import type { Field } from './stored-table.ts';

/** A condition with its value. */
export interface Given {
  readonly of?: Related;
  readonly where: (idBounds: IdBounds) => readonly Sql[];
  /** Whether it may scan many rows to find few. */
  readonly isSearch: boolean;
  /** Whether the best plan depends on the value. */
  readonly isSkewed: boolean;
  /** The same for a text that few rows have: its plan does not depend on the text. */
  readonly ifRare?: { readonly text: string; readonly where: Sql };
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
  /** The cost of the argument, in the filter of lists and in that of changes. */
  readonly cost?: string;
  readonly changesCost?: string;
  /** The index that would serve the condition, if its table lacks it. */
  readonly missingIndex?: string | undefined;
}

export type Conditions = Readonly<Record<string, Condition>>;

// It may search many rows to find a few.
const SEARCH_COST = '300';

/** Returns the index for the values of a column, if its table lacks it. */
export const missingIndex = ({ isIndexed, column }: Field): string | undefined =>
  isIndexed ? undefined : `an index that begins with ${column}`;

// One statement reads the related rows of all changes.
const READ_COST = '100';

const plain = { isSearch: false, isSkewed: false, isConstant: false } as const;

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

/**
 * A part of a text, in upper or lower case; `%`, `_` and `\` have no special meaning. For a rare text PostgreSQL
 * finds the rows of the subquery by the index of trigrams whatever the text is, so that it need not plan the
 * statement for each.
 */
export const part = (field: Field, descriptions: Descriptions): Condition => ({
  ...descriptions,
  type: field.kind.graphql,
  isList: false,
  cost: SEARCH_COST,
  missingIndex: field.hasTrigrams ? undefined : `an index of trigrams of ${field.column}`,
  rule: TEXT.part(field).transform((text) => {
    const [table = ''] = field.column.split('.');
    const contains = sql`${raw(field.column)} ilike ${`%${text.replaceAll(/[\\%_]/g, '\\$&')}%`}`;
    return {
      ...plain,
      isSearch: true,
      isSkewed: true,
      where: () => [contains],
      ifRare: { text, where: sql`id = any(array(select id from ${raw(table)} where ${contains}))` },
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
  { rule, missingIndex: _index, ...condition }: Condition,
): Condition => ({
  ...condition,
  cost: SEARCH_COST,
  changesCost: READ_COST,
  rule: rule.transform(({ where, isConstant, recorded }) => ({
    of,
    where,
    isConstant: false,
    isSearch: true,
    isSkewed: !isConstant,
    ...(recorded && { recorded: recordedOf(of, recorded) }),
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
