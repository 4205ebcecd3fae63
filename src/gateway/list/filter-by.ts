import type { Sql } from 'sql-template-tag';
import { z } from 'zod';

import { ID } from '../kinds/numbers.ts';
import { TEXT } from '../kinds/text.ts';
import type { Field } from '../model/stored-table.ts';
import { type Condition, operatorOf, type Relation } from './condition.ts';
import { type Filter, SEARCH_COST } from './filter.ts';

/** What a store says about each filter. */
type About = Pick<Filter, 'only' | 'changes'>;

function byColumn(op: Condition['op'], field: Field, about: About): Filter {
  const { planning, load } = operatorOf(op);
  const isCostly = planning === 'each' || load === 'heavy';
  const { rule, kind } = field;
  const cost = isCostly && { cost: SEARCH_COST };
  return { ...about, ...cost, op, field, rule, type: kind.graphql, isList: false };
}

/** Whether a column has so few different values that PostgreSQL can plan for each of them. */
const hasFewValues = ({ kind }: Field): boolean =>
  kind.sqlType.startsWith('text::') || kind.sqlType === 'boolean';

export const value = (field: Field, about: About): Filter =>
  byColumn(hasFewValues(field) ? 'constant' : '=', field, about);

/** Matches rows with one of several values; an empty list matches nothing. */
export function oneOf(field: Field, about: About): Filter {
  const op = field.isUnique ? 'unique' : 'any';
  return {
    ...byColumn(hasFewValues(field) ? 'constant' : op, field, about),
    note: `${field.kind === ID ? 'Unknown ids are ignored. ' : ''}An empty list matches nothing.`,
    isList: true,
    rule: z.array(field.rule),
  };
}

export const min = (field: Field<number>, about: About): Filter => byColumn('>=', field, about);

export const max = (field: Field<number>, about: About): Filter => byColumn('<=', field, about);

/**
 * Matches times or days in a range that includes `from` and excludes `before`. A range without bounds matches every row;
 * any other range does not match rows without a value.
 */
export function range(field: Field<Date>, about: About): Filter {
  const { column, kind, isNullable, rule } = field;
  if (!kind.range) throw new Error(`${column} has no range.`);
  return {
    ...byColumn('range', field, about),
    ...(isNullable && { note: 'If a bound is set, null values do not match.' }),
    type: { ...kind.range, bound: kind.graphql },
    rule: z
      .object({ from: rule.nullish(), before: rule.nullish() })
      .transform((bounds) => ((bounds.from ?? bounds.before) == null ? null : bounds)),
  };
}

export const isSet = (field: Field, about: About): Filter => ({
  ...byColumn('set', field, about),
  type: 'Boolean',
  rule: z.boolean(),
});

/**
 * Matches words or parts of words in any order, ignoring case and accents. `only` names the string: `whose name`. The
 * migrations call `make_searchable` for the column.
 */
export function words(field: Field<string>, { only, ...about }: About): Filter {
  if (field.kind !== TEXT) throw new Error(`${field.column} has no words.`);
  const all = `${only} contains all of these words or parts of words, in any order, ignoring case and accents`;
  return {
    ...byColumn('words', field, { ...about, only: all }),
    rule: TEXT.rule({ ...field, isNullable: true }).transform((text) => text.trim() || null),
  };
}

/**
 * Matches rows by a condition on a related row. Conditions on the same related row must pass the same `relation`, so
 * that they share a subquery.
 */
export function related(relation: Relation, filter: Filter): Filter {
  const { name, columns } = relation.table;
  // In the subquery, the name would be that of the related row's column.
  if (Object.values(columns).includes(relation.by)) {
    throw new Error(
      `A filter can't refer to ${name} by ${relation.by}, because ${name} has a column of this name, too.`,
    );
  }
  return { ...filter, relation, cost: SEARCH_COST };
}

interface Search<Value> extends Pick<Filter, 'only' | 'note' | 'type'> {
  readonly rule: z.ZodType<Value>;
  readonly cost: string;
  readonly where: (wanted: Value) => Sql;
}

/** Matches rows by any other condition in SQL: a search that PostgreSQL plans separately for each value. */
export const search = <Value>({ rule, where, ...about }: Search<Value>): Filter => ({
  ...about,
  op: 'search',
  isList: false,
  rule: rule.transform(where),
});
