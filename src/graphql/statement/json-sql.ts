import { type GraphQLNamedType, isEnumType } from 'graphql';

import { timeAsText } from '../../database/text.ts';

/**
 * Stands in an answer for a value that can't be sent, such as a date beyond year 9999: graphql-js then
 * executes the query for its error. JSON has this character only escaped.
 */
export const UNSENDABLE = '\u0001';
const UNSENDABLE_SQL = `E'\\x01'`;

/** A part of a text: constant, or an expression in SQL. */
export type Part = string | { readonly sql: string };

const toLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** Returns SQL that joins parts; `||` is the fastest way in which PostgreSQL writes JSON. */
export function concatenate(parts: readonly Part[]): string {
  const terms: string[] = [];
  let text = '';
  for (const part of parts) {
    if (typeof part === 'string') {
      text += part;
      continue;
    }
    // The first term is a literal, so that every || joins texts.
    if (text !== '' || terms.length === 0) terms.push(toLiteral(text));
    terms.push(part.sql);
    text = '';
  }
  if (text !== '' || terms.length === 0) terms.push(toLiteral(text));
  return terms.join(' || ');
}

const SCALARS: Readonly<Record<string, (column: string) => string>> = {
  ID: (column) => `'"' || ${column} || '"'`,
  Int: (column) => `${column}::text`,
  Boolean: (column) => `${column}::text`,
  String: (column) => `to_json(${column})::text`,
  DateTime: (column) => `'"' || ${timeAsText(column)} || '"'`,
};

/** Returns SQL that writes a value of a GraphQL type as JSON; undefined if the type has no such form. */
function writeValue(type: GraphQLNamedType, column: string): string | undefined {
  if (!isEnumType(type)) return SCALARS[type.name]?.(column);
  const cases = type.getValues().map(({ name, value }) => `when '${value}' then '"${name}"'`);
  return `case ${column} ${cases.join(' ')} end`;
}

/** Returns SQL of JSON that may be null: `null` if it may be in the answer. */
export const orNull = (json: string, isNullable: boolean): string =>
  `coalesce(${json}, ${isNullable ? `'null'` : UNSENDABLE_SQL})`;

/** Whether PostgreSQL can write values of a type. */
export const isWritable = (type: GraphQLNamedType): boolean =>
  isEnumType(type) || type.name in SCALARS;

// These always have a text.
const ALWAYS = new Set(['ID', 'Int', 'Boolean', 'String']);

/** Returns SQL that writes a column as JSON. */
export function writeColumn(type: GraphQLNamedType, column: string, isNullable: boolean): string {
  const json = writeValue(type, column) ?? 'null';
  if (ALWAYS.has(type.name)) return isNullable ? orNull(json, true) : json;
  if (!isNullable) return orNull(json, false);
  return `case when ${column} is null then 'null' else ${orNull(json, false)} end`;
}
