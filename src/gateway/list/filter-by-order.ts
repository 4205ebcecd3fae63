import sql, { join, raw, type Sql } from 'sql-template-tag';
import { z } from 'zod';

import { type Field, toValue } from '../model/stored-table.ts';
import { type Condition, plain, type Requirement, SEARCH_COST } from './conditions.ts';

// These conditions select a part of a sort's order, so they are compared with its key, which is indexed.

/**
 * Compares the sort key of a nullable column with that of null, which is the largest. PostgreSQL does not infer a
 * condition on the key from one on the column, and either can have the index, so both are compared.
 */
const compareWithNull = ({ column, kind: { sort, sqlType } }: Field, operator: '<' | '='): Sql => {
  const ofNull =
    sort.nullAs === undefined ? `array[null::${sqlType}]` : `'${sort.nullAs}'::${sqlType}`;
  return raw(`${sort.sql(column, true)} ${operator} ${ofNull}`);
};

const bound =
  (operator: '>=' | '<=', accepts: (recorded: number, limit: number) => boolean) =>
  (field: Field<number>, requirement: Requirement): Condition => ({
    ...requirement,
    type: field.kind.graphql,
    isList: false,
    isRecorded: true,
    cost: SEARCH_COST,
    rule: z.int().transform((limit) => ({
      ...plain,
      isSkewed: true,
      where: () => {
        const { column, kind, isNullable } = field;
        const isIn = sql`${raw(`${column} ${operator}`)} ${limit}`;
        if (!isNullable) return [isIn];
        const key = kind.sort.sql(column, isNullable);
        const isKeyIn = sql`${raw(`${key} ${operator}`)} array[${toValue(field, limit)}]`;
        return [isKeyIn, compareWithNull(field, '<'), isIn];
      },
      recorded: {
        column: field.ownColumn,
        initial: field.initial,
        accepts: (recorded) => accepts(Number(recorded), limit),
        toSql: (recorded) => sql`${recorded}::bigint ${raw(operator)} ${limit}::bigint`,
      },
    })),
  });

export const min = bound('>=', (recorded, limit) => recorded >= limit);

export const max = bound('<=', (recorded, limit) => recorded <= limit);

/**
 * Matches times or days in a range that includes `from` and excludes `before`. A range without bounds matches every row;
 * any other range does not match rows with a missing value.
 *
 * The bounds are compared twice: with the sort key, which is indexed, and with the column. PostgreSQL multiplies the
 * selectivities of both conditions, so it expects few rows and uses the index, even if rows are sorted by id. With a
 * single condition, it would expect the rows of a day to be spread over all ids, and read all older rows before the
 * first match. `is true` keeps both conditions apart if the column is its own sort key.
 */
export function range(field: Field<Date>, requirement: Requirement): Condition {
  const { column, kind, isNullable, rule } = field;
  if (!kind.range) throw new Error(`${column} has no range.`);
  const key = raw(kind.sort.sql(column, isNullable));
  return {
    ...requirement,
    ...(isNullable && { note: 'If a bound is set, null values do not match.' }),
    type: { ...kind.range, of: kind.graphql },
    isList: false,
    cost: SEARCH_COST,
    rule: z
      .object({ from: rule.nullish(), before: rule.nullish() })
      .transform(({ from, before }) => {
        const isBound = (from ?? before) != null;
        const isIn = (by: Sql): Sql[] => [
          ...(from == null ? [] : [sql`${by} >= ${toValue(field, from)}`]),
          ...(before == null ? [] : [sql`${by} < ${toValue(field, before)}`]),
        ];
        // A missing value counts as the latest.
        const exceptNull = isNullable && before == null ? [compareWithNull(field, '<')] : [];
        return {
          ...plain,
          isSearch: isBound,
          isSkewed: isBound,
          where: () =>
            isBound
              ? [...isIn(key), ...exceptNull, sql`(${join(isIn(raw(column)), ' and ')}) is true`]
              : [],
        };
      }),
  };
}

/** Matches rows by whether a value is set. */
export function isSet(field: Field, requirement: Requirement): Condition {
  const { column, isNullable } = field;
  const toWhere = (isWanted: boolean): Sql[] => {
    const isIn = raw(`${column} is ${isWanted ? 'not ' : ''}null`);
    return isNullable ? [isIn, compareWithNull(field, isWanted ? '<' : '=')] : [isIn];
  };
  return {
    ...requirement,
    type: 'Boolean',
    isList: false,
    cost: SEARCH_COST,
    rule: z.boolean().transform((isWanted) => ({
      ...plain,
      isSearch: true,
      isConstant: true,
      where: () => toWhere(isWanted),
    })),
  };
}
