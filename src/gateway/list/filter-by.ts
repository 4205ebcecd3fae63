import sql, { join, raw, type Sql } from 'sql-template-tag';
import { z } from 'zod';

import { ID } from '../kinds/numbers.ts';
import { TEXT } from '../kinds/text.ts';
import { DATE_TIME } from '../kinds/times.ts';
import { type Field, toValue } from '../model/stored-table.ts';
import {
  type Condition,
  type IdBounds,
  missingIndex,
  plain,
  type Requirement,
  SEARCH_COST,
} from './conditions.ts';
import { recordedAmong, recordedOf, type Related } from './recorded.ts';

export { isSet, max, min, range } from './filter-by-order.ts';

// The cost of reading related rows: one statement reads them for all changes.
const READ_COST = '100';

// How PostgreSQL plans each condition:
//
//   oneOf     unique            a lookup; the text is the same for any number of values
//             enum, boolean     constant: part of the text, so each value has its own plan
//             anything else     one value: a lookup; several: may scan, planned each time
//   value                       like oneOf with one value
//   words     range             may scan, planned each time
//   min       max               planned each time
//   isSet                       constant, may scan
//   related                     may scan, planned each time unless constant
//   search                      may scan, planned each time

/** Whether a column has so few different values that PostgreSQL can plan for each of them. */
const hasFewValues = ({ kind }: Field): boolean =>
  kind.sqlType.startsWith('text::') || kind.sqlType === 'boolean';

/** Compares a single value with `=`, so that an index can provide the order. */
function isAmongConstants({ column }: Field, values: readonly unknown[]): Sql {
  const literals = [...new Set(values.map(String))].toSorted().map((value) => `'${value}'`);
  if (literals.length === 0) return sql`false`;
  return raw(
    literals.length === 1
      ? `${column} = ${literals.join('')}`
      : `${column} in (${literals.join(', ')})`,
  );
}

/**
 * Passes all values in one parameter, so that requests with different ids can share a statement. The parameter is in a
 * subquery, so that PostgreSQL does not plan again for each number of values.
 */
function isAmongValues({ column, kind }: Field, values: readonly unknown[]): Sql {
  const texts = values.map((value) => String(kind.toParameter(value)));
  const list = `{${texts.map((text) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;
  const type = raw(kind.sqlType);
  return sql`${raw(column)} = any((select ${list}::text::${type}[])::${type}[])`;
}

/** Whether a value has the same text in a recorded row and in a filter. PostgreSQL's JSON has times in another format. */
const isRecorded = ({ kind }: Field): boolean => kind !== DATE_TIME;

/**
 * Matches rows with one of several values; an empty list matches nothing. If many rows share each of several values,
 * no index provides the list's order. PostgreSQL therefore plans the statement for the given values, and decides
 * whether to sort the rows.
 */
export function oneOf(field: Field, requirement: Requirement): Condition {
  const { kind, isUnique } = field;
  const column = raw(field.column);
  const type = raw(`::${kind.sqlType}`);
  const isConstant = hasFewValues(field);
  const isMany = !isConstant && !isUnique;
  const toWhere = (values: readonly unknown[]): Sql => {
    if (isConstant) return isAmongConstants(field, values);
    if (isUnique) return isAmongValues(field, values);
    return values.length === 1
      ? sql`${column} = ${toValue(field, values[0])}`
      : sql`${column} = any(${values.map((one) => kind.toParameter(one))}${type}[])`;
  };
  return {
    ...requirement,
    note: `${kind === ID ? 'Unknown ids are ignored. ' : ''}An empty list matches nothing.`,
    type: kind.graphql,
    isList: true,
    isRecorded: isRecorded(field),
    missingIndex: missingIndex(field),
    ...(isMany && { cost: SEARCH_COST }),
    rule: z.array(field.rule).transform((values) => {
      const isSkewed = isMany && values.length > 1;
      const where = toWhere(values);
      const recorded = recordedAmong(field, values);
      return { isConstant, isSkewed, isSearch: isSkewed, where: () => [where], recorded };
    }),
  };
}

export const value = (field: Field, requirement: Requirement): Condition => ({
  ...requirement,
  type: field.kind.graphql,
  isList: false,
  isRecorded: isRecorded(field),
  missingIndex: missingIndex(field),
  rule: field.rule.transform((wanted) => {
    const isConstant = hasFewValues(field);
    const where = isConstant
      ? isAmongConstants(field, [wanted])
      : sql`${raw(field.column)} = ${toValue(field, wanted)}`;
    return { ...plain, isConstant, where: () => [where], recorded: recordedAmong(field, [wanted]) };
  }),
});

// How many words have a condition of their own, which the index can use. Planning takes time for each, so all further
// words share one condition.
const INDEXED_WORDS = 3;

/**
 * Matches words or parts of words in any order, ignoring case and accents. `%`, `_` and `\` have no special meaning.
 * The trigram index finds the rows that contain the longest words. `only` names the string: `whose name`. The migrations
 * call `make_searchable` for the column.
 */
export function words(field: Field<string>, { only, ...requirement }: Requirement): Condition {
  if (field.kind !== TEXT) throw new Error(`${field.column} has no words.`);
  return {
    ...requirement,
    only: `${only} contains all of these words or parts of words, in any order, ignoring case and accents`,
    type: TEXT.graphql,
    isList: false,
    cost: SEARCH_COST,
    rule: TEXT.rule({ ...field, isNullable: true }).transform((text) => {
      const patterns = text
        .split(/\s+/)
        .filter((word) => word !== '')
        .toSorted((a, b) => b.length - a.length)
        .map((word) => `%${word.replaceAll(/[\\%_]/g, '\\$&')}%`);
      const others = patterns.slice(INDEXED_WORDS);
      const matches = [
        ...patterns
          .slice(0, INDEXED_WORDS)
          .map((pattern) => sql`text like folded(lower(${pattern}))`),
        ...(others.length > 0
          ? [sql`text like all(string_to_array(folded(lower(${others.join(' ')})), ' '))`]
          : []),
      ];
      const texts = raw(field.column.replace('.', '_folded_'));
      const isFound = join([sql`id = ${raw(field.rowId)}`, ...matches], ' and ');
      return {
        ...plain,
        isSearch: true,
        isSkewed: true,
        where: () =>
          matches.length > 0 ? [sql`exists (select from ${texts} where ${isFound})`] : [],
      };
    }),
  };
}

/**
 * Matches rows by a condition on a related row. Conditions on the same related row must pass the same object `of`, so
 * that they share a subquery.
 */
export const related = (
  of: Related,
  { rule, missingIndex: _index, ...condition }: Condition,
): Condition => ({
  ...condition,
  changesNote: `The filter checks the current state of the ${of.table.words.short}. A deleted ${of.table.words.short} always matches.`,
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

/** Matches rows by any other condition in SQL: a search that PostgreSQL plans separately for each value. */
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
  requirement: Requirement & Pick<Condition, 'note'>,
): Condition => ({
  ...requirement,
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
