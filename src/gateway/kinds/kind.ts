import type { GraphQLScalarType } from 'graphql';
import type { z } from 'zod';

/**
 * A part of a text that PostgreSQL writes: a constant, or an expression. An expression without a constant before it
 * must have the type text.
 */
export type Part = string | { readonly sql: string };

/** The limits that schema.prisma sets for the values of a column. */
export interface Limits {
  /** In characters; null if unlimited. */
  readonly maxLength: number | null;
  readonly isNullable: boolean;
}

/** The input type of a range of values. */
export interface RangeType {
  readonly name: string;
  readonly description: string;
  /** The type of its bounds. */
  readonly of: string;
}

/** How rows are sorted by values of this kind. */
export interface Sort<Value> {
  /** The sort key in SQL, identical to the expression in the indexes. */
  readonly sql: (column: string, isNullable: boolean) => string;
  /** The text of a value in a cursor, and SQL for the same text, which is null if the value has no such text. */
  textOf(value: Value | null): string;
  readonly asText: (column: string) => string;
  /** Validates the text in a cursor. */
  readonly text: z.ZodType<string>;
  /** The SQL function that converts a value to its sort key, unless the value is the key. */
  readonly toKey?: string;
  /** What to append to the description of this sort, if anything. */
  readonly note?: string;
}

/** Everything that the gateway needs to support a kind of value. A new scalar is one such object. */
export interface Kind<Value = unknown> {
  /** Its GraphQL type. */
  readonly graphql: string;
  /** The scalar to define, unless GraphQL has it built in. */
  readonly scalar?: GraphQLScalarType;
  /** Validates input. */
  readonly rule: (limits: Limits) => z.ZodType<Value>;
  /** Its PostgreSQL type. */
  readonly sqlType: string;
  /** Converts a value to a parameter of a statement. */
  toParameter(value: Value): unknown;
  /**
   * Parses PostgreSQL's text for the type with this OID, if drivers would return the text unparsed or parse it slowly.
   */
  readonly parser?: { readonly oid: number; readonly parse: (text: string) => Value };
  /** Parses a value from PostgreSQL's JSON, such as a row in the change log. */
  readonly fromText: (text: string) => Value;
  /** Writes a column as JSON for the response, in a compiled statement. */
  readonly json: (column: string) => readonly Part[];
  /**
   * SQL for whether a column's value can be sent; without it, all values can. Other values are sent as null, or cause
   * an error if the field is not nullable.
   */
  readonly isSendable?: (column: string) => string;
  readonly sort: Sort<Value>;
  /** An additional order for programs, by code point. */
  readonly codePointSort?: Sort<Value>;
  /** Set if callers can filter by a range of values. */
  readonly range?: Omit<RangeType, 'of'>;
}
