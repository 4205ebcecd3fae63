import type { GraphQLScalarType } from 'graphql';
import type { z } from 'zod';

/**
 * A part of the text that PostgreSQL writes: a constant, or an expression. An expression without a preceding constant
 * must have the type text.
 */
export type Part = string | { readonly sql: string };

/** Returns a text as a constant in SQL. */
export const toLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** The limits that schema.prisma sets for the values of a column. */
export interface ColumnLimits {
  /** In characters; null if unlimited. */
  readonly maxLength: number | null;
  readonly isNullable: boolean;
}

/** The input type for a range of values. */
export interface RangeType {
  readonly name: string;
  readonly description: string;
  /** The type of the bounds. */
  readonly bound: string;
}

/**
 * Returns a sort key that may be null as an array. Comparing rows with a null key would lose them, but PostgreSQL sorts
 * a null element of an array after all other elements.
 */
export const nullsLast = (key: string, isNullable: boolean): string =>
  isNullable ? `array[${key}]` : key;

/** How rows are sorted by values of this kind. */
export interface Sort<Value> {
  /** The sort key as SQL, identical to the expression in the indexes. */
  readonly sql: (column: string, isNullable: boolean) => string;
  /** Null is sorted like the value with this text. If omitted, the key of a nullable column is from `nullsLast`. */
  readonly nullAs?: string;
  /** Returns the text of a value in a cursor. `asText` is SQL for the same text, or for null if a value has no text. */
  textOf(value: Value): string;
  readonly asText: (column: string) => string;
  /** Validates the text in a cursor. */
  readonly text: z.ZodType<string>;
  /** The SQL function that converts a value to its sort key, unless the value is the key. */
  readonly toKey?: string;
  /** A clause to append to the description of this sort, if any. */
  readonly note?: string;
}

/** Everything that the gateway needs to support a kind of value. To add a scalar, add one such object to KINDS. */
export interface Kind<Value = unknown> {
  readonly graphql: string;
  /** The scalar to define, unless it is built into GraphQL. */
  readonly scalar?: GraphQLScalarType;
  readonly rule: (limits: ColumnLimits) => z.ZodType<Value>;
  /** All values of an enum, in their order. */
  readonly values?: readonly string[];
  readonly sqlType: string;
  /** Converts a value to a parameter of a statement. */
  toParameter(value: Value): unknown;
  /** The OID of the type, unless the drivers parse its text correctly and fast. */
  readonly oid?: number;
  /** Parses PostgreSQL's text for a value, in a row or in JSON, such as that of the change log. */
  readonly fromText: (text: string) => Value;
  /** Writes a column as JSON for the response, in a compiled statement; null for null, and for what has no JSON. */
  readonly json: (column: string) => readonly Part[];
  readonly sort: Sort<Value>;
  /** An additional order by code point, for programs. */
  readonly codePointSort?: Sort<Value>;
  /** Set if callers can filter by a range of values. */
  readonly range?: Omit<RangeType, 'bound'>;
}
