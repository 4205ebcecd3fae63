import { type GraphQLNamedType, isEnumType } from 'graphql';

import type { Part } from '../../kinds/kind.ts';
import { kindOfScalar } from '../../kinds/kinds.ts';

/**
 * Marks a value in the response that cannot be sent, such as a date after the year 9999. graphql-js then executes the
 * query, to report the error. In JSON, this character occurs only escaped.
 */
export const UNSENDABLE = '\u0001';
const UNSENDABLE_SQL = `E'\\x01'`;

const toLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/**
 * Joins terms in pairs, because PostgreSQL would copy the preceding text for each term if they were joined from left to
 * right.
 */
const joinTerms = (terms: readonly string[]): string => {
  if (terms.length <= 2) return terms.join(' || ');
  const middle = Math.ceil(terms.length / 2);
  return `(${joinTerms(terms.slice(0, middle))}) || (${joinTerms(terms.slice(middle))})`;
};

/** Returns SQL that joins parts. `||` is the fastest way to write JSON in PostgreSQL. */
export function concatenate(parts: readonly Part[]): string {
  const terms: string[] = [];
  let text = '';
  for (const part of parts) {
    if (typeof part === 'string') {
      text += part;
      continue;
    }
    terms.push(text === '' ? part.sql : `${toLiteral(text)} || ${part.sql}`);
    text = '';
  }
  if (text !== '' || terms.length === 0) terms.push(toLiteral(text));
  return joinTerms(terms);
}

/** Writes a value of a GraphQL type as JSON; `null` if PostgreSQL cannot write the type. */
function writeValue(type: GraphQLNamedType, column: string): readonly Part[] {
  if (!isEnumType(type)) return kindOfScalar(type.name)?.json(column) ?? ['null'];
  const cases = type.getValues().map(({ name, value }) => `when '${value}' then '"${name}"'`);
  return [{ sql: `case ${column} ${cases.join(' ')} end` }];
}

/**
 * Returns SQL for JSON that may be null in PostgreSQL. Null is written as `null` if the field is nullable, otherwise as
 * UNSENDABLE.
 */
export const orNull = (parts: readonly Part[], isNullable: boolean): string =>
  `coalesce(${concatenate(parts)}, ${isNullable ? `'null'` : UNSENDABLE_SQL})`;

/** Whether PostgreSQL can write values of a type. */
export const isWritable = (type: GraphQLNamedType): boolean =>
  isEnumType(type) || kindOfScalar(type.name) !== undefined;

export function writeColumn(
  type: GraphQLNamedType,
  column: string,
  isNullable: boolean,
): readonly Part[] {
  const json = writeValue(type, column);
  const isSendable = kindOfScalar(type.name)?.isSendable;
  if (!isSendable && !isEnumType(type)) return isNullable ? [{ sql: orNull(json, true) }] : json;
  if (!isNullable) return [{ sql: orNull(json, false) }];
  // Infinite times and days are written as null, like missing ones.
  const isSet = isSendable?.(column) ?? `${column} is not null`;
  return [{ sql: `case when ${isSet} then ${orNull(json, false)} else 'null' end` }];
}
