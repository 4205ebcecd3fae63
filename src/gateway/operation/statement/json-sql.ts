import { type GraphQLNamedType, isEnumType } from 'graphql';

import { type Kind, type Part, toLiteral } from '../../kinds/kind.ts';
import { kindOfScalar } from '../../kinds/kinds.ts';

/** Marks a value that can't be sent, so that graphql-js reports it. In JSON, this character occurs only escaped. */
export const UNSENDABLE = '\u0001';
const UNSENDABLE_SQL = `E'\\x01'`;

/** Joins terms in pairs: from left to right, PostgreSQL would copy the preceding text for each term. */
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

/** Returns SQL for JSON, and the JSON that replaces it if it is null in PostgreSQL. */
export const orElse = (sql: string, json: string): string =>
  `coalesce(${sql}, ${json === UNSENDABLE ? UNSENDABLE_SQL : toLiteral(json)})`;

/** A value of a type in SQL. */
export interface SqlValue {
  readonly sql: string;
  readonly isNullable: boolean;
  /** How values of the type are written as JSON. */
  readonly format: Pick<Kind, 'json'>;
  /** The size as JSON above which it can't be sent, if its store declares one. */
  readonly maxBytes?: number | undefined;
}

/** Returns the format of a type's values; undefined if PostgreSQL can't write them. */
export function formatOf(type: GraphQLNamedType): SqlValue['format'] | undefined {
  if (!isEnumType(type)) return kindOfScalar(type.name);
  const cases = type
    .getValues()
    .map(({ name, value }) => `when ${toLiteral(String(value))} then '"${name}"'`);
  return { json: (column) => [{ sql: `case ${column} ${cases.join(' ')} end` }] };
}

/** Writes a value as JSON. For what can't be sent, the JSON is null in PostgreSQL, and its row becomes UNSENDABLE. */
export function writeValue({ sql, isNullable, format, maxBytes }: SqlValue): readonly Part[] {
  const parts = format.json(sql);
  if (!isNullable && maxBytes === undefined) return parts;
  const json = concatenate(parts);
  const sent =
    maxBytes === undefined
      ? json
      : `case when octet_length(${json}) <= ${maxBytes} then ${json} end`;
  return [
    { sql: isNullable ? `coalesce(${sent}, case when ${sql} is null then 'null' end)` : sent },
  ];
}
