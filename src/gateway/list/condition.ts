import sql, { join, raw, type Sql } from 'sql-template-tag';

import type { Effort } from '../database/session.ts';
import type { TextSamples } from '../database/text-samples.ts';
import { toLiteral } from '../kinds/kind.ts';
import type { RowLoader } from '../model/loaders.ts';
import { type Field, toValue, type Table } from '../model/stored-table.ts';
import type { Words } from '../model/words.ts';

/** The row that a column refers to. */
export interface Relation {
  readonly table: Table<never> & { readonly byId: RowLoader<object | null>; readonly words: Words };
  /** The column that contains the id of the related row. */
  readonly by: string;
}

/** The times or days from `from` to before `before`. */
interface Range {
  readonly from?: Date | null | undefined;
  readonly before?: Date | null | undefined;
}

/** Returns the condition that a column has one of the values, which are part of the text. */
export function isOneOf(column: string, values: readonly unknown[]): string {
  const literals = [...new Set(values.map(String))].toSorted().map(toLiteral);
  if (literals.length === 0) return 'false';
  // An index can provide the order after `=`.
  if (literals.length === 1) return `${column} = ${literals[0]}`;
  return `${column} in (${literals.join(', ')})`;
}

const isConstant = ({ column }: Field, value: unknown): Sql[] => [
  raw(isOneOf(column, [value].flat())),
];

const isEqual = (field: Field, value: unknown): Sql[] => [
  sql`${raw(field.column)} = ${toValue(field, value)}`,
];

/**
 * Passes all values in one parameter, so that requests with different ids can share a statement. The parameter is in a
 * subquery, so that PostgreSQL does not plan again for each number of values.
 */
function isUnique({ column, kind }: Field, values: readonly unknown[]): Sql[] {
  const texts = values.map((value) => String(kind.toParameter(value)));
  const list = `{${texts.map((text) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;
  const type = raw(kind.sqlType);
  return [sql`${raw(column)} = any((select ${list}::text::${type}[])::${type}[])`];
}

function isAny(field: Field, values: readonly unknown[]): Sql[] {
  if (values.length === 1) return isEqual(field, values[0]);
  const { column, kind } = field;
  const list = values.map((value) => kind.toParameter(value));
  return [sql`${raw(column)} = any(${list}${raw(`::${kind.sqlType}[]`)})`];
}

// The following conditions select a part of a sort's order, so they are compared with its key, which is indexed.

const keyOf = ({ column, kind, isNullable }: Field): Sql => raw(kind.sort.sql(column, isNullable));

/**
 * Compares the key of a nullable column with that of null, which is the largest. PostgreSQL does not infer a condition on
 * the key from one on the column, and either can have the index, so both are compared.
 */
function compareWithNull(field: Field, operator: '<' | '='): Sql {
  const { sort, sqlType } = field.kind;
  const key =
    sort.nullAs === undefined ? `array[null::${sqlType}]` : `'${sort.nullAs}'::${sqlType}`;
  return sql`${keyOf(field)} ${raw(`${operator} ${key}`)}`;
}

const isWithin =
  (operator: '>=' | '<=') =>
  (field: Field, limit: number): Sql[] => {
    const isIn = sql`${raw(`${field.column} ${operator}`)} ${limit}`;
    if (!field.isNullable) return [isIn];
    const isKeyIn = sql`${keyOf(field)} ${raw(operator)} array[${toValue(field, limit)}]`;
    return [isKeyIn, compareWithNull(field, '<'), isIn];
  };

/**
 * The bounds are compared twice: with the key and with the column. PostgreSQL multiplies the selectivities of both
 * conditions, so it expects few rows and uses the index, even if rows are sorted by id. With a single condition, it would
 * expect the rows of a day to be spread over all ids, and read all older rows before the first match. `is true` keeps
 * both conditions apart if the column is its own key.
 */
function isInRange(field: Field, { from, before }: Range): Sql[] {
  const isIn = (by: Sql): Sql[] => [
    ...(from == null ? [] : [sql`${by} >= ${toValue(field, from)}`]),
    ...(before == null ? [] : [sql`${by} < ${toValue(field, before)}`]),
  ];
  const hasNulls = field.isNullable && before == null;
  return [
    ...isIn(keyOf(field)),
    ...(hasNulls ? [compareWithNull(field, '<')] : []),
    sql`(${join(isIn(raw(field.column)), ' and ')}) is true`,
  ];
}

function isSet(field: Field, isWanted: boolean): Sql[] {
  const isIn = raw(`${field.column} is ${isWanted ? 'not ' : ''}null`);
  return field.isNullable ? [isIn, compareWithNull(field, isWanted ? '<' : '=')] : [isIn];
}

// How many words have a condition of their own, which the index can use. Planning takes time for each, so all further
// words share one condition.
const INDEXED_WORDS = 3;

// Each word once: a short one that is repeated would be compared with each row as often.
const wordsOf = (text: string): string[] =>
  [...new Set(text.split(/\s+/))].toSorted((a, b) => b.length - a.length);

const foldedTextsOf = ({ column }: Field): string => column.replace('.', '_folded_');

/** The trigram index finds the texts that contain the longest words. `%`, `_` and `\` have no special meaning. */
function containsWords(text: string, toFolded: (pattern: string) => Sql): Sql {
  const patterns = wordsOf(text).map((word) => `%${word.replaceAll(/[\\%_]/g, '\\$&')}%`);
  const indexed = patterns.slice(0, INDEXED_WORDS).map(toFolded);
  const others = patterns.slice(INDEXED_WORDS).join(' ');
  const all = others ? [sql`all(string_to_array(folded(lower(${others})), ' '))`] : [];
  return sql`text like ${join([...indexed, ...all], ' and text like ')}`;
}

function hasWords(field: Field, text: string): Sql[] {
  // PostgreSQL plans for this text.
  const isFound = containsWords(text, (pattern) => sql`folded(lower(${pattern}))`);
  const texts = raw(foldedTextsOf(field));
  return [sql`exists (select from ${texts} where id = ${raw(field.rowId)} and ${isFound})`];
}

/** Finds all rows with the words before others are compared. That needs no plan for each text, but reads all matches. */
function hasRareWords(field: Field, text: string): Sql[] {
  // In a subquery, the pattern is folded once.
  const isFound = containsWords(text, (pattern) => sql`(select folded(lower(${pattern})))`);
  const ids = sql`select id from ${raw(foldedTextsOf(field))} where ${isFound}`;
  return [sql`${raw(field.rowId)} = any(array(${ids}))`];
}

const asIs = (_field: undefined, where: Sql): Sql[] => [where];

/**
 * PostgreSQL plans `each` time if the best plan depends on the value. It is `heavy` if PostgreSQL may scan many rows to find
 * a few; on a related row, every condition is.
 */
interface Operator<Value = unknown> extends Effort {
  /** `planning` of a condition on a related row. */
  readonly related: Effort['planning'];
  /** Whether the column needs an index. */
  readonly isLookup?: true;
  toSql(field: Field | undefined, value: Value): Sql[];
}

/** How conditions are written and planned. */
const OPERATORS = {
  // One of a few values, which have their own plans.
  constant: { planning: 'once', load: 'light', related: 'once', isLookup: true, toSql: isConstant },
  '=': { planning: 'once', load: 'light', related: 'each', isLookup: true, toSql: isEqual },
  // Ids, or other values that no two rows share.
  unique: { planning: 'once', load: 'light', related: 'each', isLookup: true, toSql: isUnique },
  // Values that many rows share: no index provides the order, so PostgreSQL decides whether to sort. One value is like `=`.
  any: { planning: 'each', load: 'heavy', related: 'each', isLookup: true, toSql: isAny },
  '>=': { planning: 'each', load: 'light', related: 'each', isLookup: true, toSql: isWithin('>=') },
  '<=': { planning: 'each', load: 'light', related: 'each', isLookup: true, toSql: isWithin('<=') },
  range: { planning: 'each', load: 'heavy', related: 'each', toSql: isInRange },
  set: { planning: 'once', load: 'heavy', related: 'once', toSql: isSet },
  words: { planning: 'each', load: 'heavy', related: 'each', toSql: hasWords },
  rareWords: { planning: 'once', load: 'heavy', related: 'once', toSql: hasRareWords },
  // Any other condition of the store.
  search: { planning: 'each', load: 'heavy', related: 'each', toSql: asIs },
} as const satisfies Record<string, Operator>;

/** A condition on a column of the row or, with `relation`, of a related row. */
export interface Condition {
  readonly op: keyof typeof OPERATORS;
  /** Undefined for a search. */
  readonly field?: Field | undefined;
  readonly relation?: Relation | undefined;
  readonly value: unknown;
}

export type ColumnCondition = Condition & { readonly field: Field };

export const isOfColumn = (condition: Condition): condition is ColumnCondition =>
  condition.field !== undefined;

export const operatorOf = (op: Condition['op']): Operator => OPERATORS[op];

/** Returns the conditions, in which words that few rows contain are `rareWords`. */
export const findRareWords = (
  conditions: readonly Condition[],
  samples: TextSamples,
): readonly Condition[] =>
  conditions.map((condition) => {
    const { op, field, relation, value } = condition;
    if (op !== 'words' || !field || relation) return condition;
    const areRare = samples.areRare(foldedTextsOf(field), wordsOf(String(value)));
    return areRare ? { ...condition, op: 'rareWords' } : condition;
  });

/** Returns how PostgreSQL plans a statement with these conditions. */
export function planOf(conditions: readonly Condition[]): Effort {
  const plans = conditions.map(({ op, value, relation }) => {
    const isOne = op === 'any' && Array.isArray(value) && value.length < 2;
    const { planning, load, related } = OPERATORS[isOne ? '=' : op];
    return relation ? { planning: related, load: 'heavy' } : { planning, load };
  });
  return {
    planning: plans.some(({ planning }) => planning === 'each') ? 'each' : 'once',
    load: plans.some(({ load }) => load === 'heavy') ? 'heavy' : 'light',
  };
}

const toSql = ({ op, field, value }: Condition): Sql[] => operatorOf(op).toSql(field, value);

/**
 * Returns the conditions of a list as SQL. All conditions on the same related row share a subquery. If the list's `id`
 * is also that of the related row, the subquery repeats the cursors' conditions on it, which `compareId` returns:
 * PostgreSQL does not infer `books.id > 5` from `book_id > 5` and `books.id = book_id`, and a merge join would read the
 * books from the first.
 */
export const toWhere = (
  conditions: readonly Condition[],
  id: string,
  compareId: (column: Sql) => readonly Sql[] = () => [],
): Sql[] =>
  conditions.flatMap((condition) => {
    const { relation } = condition;
    if (!relation) return toSql(condition);
    const together = conditions.filter((other) => other.relation === relation);
    if (together[0] !== condition) return [];
    const { name } = relation.table;
    const column = `${name}.${relation.table.id.column}`;
    const isMet = [
      raw(`${column} = ${relation.by}`),
      ...together.flatMap(toSql),
      ...(relation.by === id ? compareId(raw(column)) : []),
    ];
    return sql`exists (select from ${raw(name)} where ${join(isMet, ' and ')})`;
  });
