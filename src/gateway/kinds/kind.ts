import type { GraphQLScalarType } from 'graphql';
import type { z } from 'zod';

/** A part of a text that PostgreSQL writes: constant, or an expression, whose type is text unless a constant stands before it. */
export type Part = string | { readonly sql: string };

/** What schema.prisma says of the values of a column. */
export interface Limits {
  /** In characters; null without a limit. */
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

/** How rows are sorted by values of a kind. */
export interface Sort<Value> {
  /** What rows are compared by, as it is in the indexes. */
  readonly sql: (column: string, isNullable: boolean) => string;
  /** The text of a value in a cursor, and the same text as SQL: null if the value has no such text. */
  textOf(value: Value | null): string;
  readonly asText: (column: string) => string;
  /** Validates the text in a cursor. */
  readonly text: z.ZodType<string>;
  /** The function that makes what rows are compared by of a value, unless that is the value itself. */
  readonly toKey?: string;
  /** How a description of the order goes on, if the kind has another one. */
  readonly note?: string;
}

/** All that the gateway knows of a kind of value. A new scalar is one such object. */
export interface Kind<Value = unknown> {
  /** Its type in GraphQL. */
  readonly graphql: string;
  /** That type, unless it is in every schema. */
  readonly scalar?: GraphQLScalarType;
  /** Validates input. */
  readonly rule: (limits: Limits) => z.ZodType<Value>;
  /** Its type in PostgreSQL. */
  readonly sqlType: string;
  /** The value as a parameter of a statement. */
  toParameter(value: Value): unknown;
  /** Parses the text of PostgreSQL by the OID of its type, if a driver would leave it as text or parse it slowly. */
  readonly parser?: { readonly oid: number; readonly parse: (text: string) => Value };
  /** Parses a value in JSON of PostgreSQL, such as a row of the change log. */
  readonly fromText: (text: string) => Value;
  /** Writes a column as JSON of the response, in a compiled statement. */
  readonly json: (column: string) => readonly Part[];
  /** Whether a value of the column can be sent, as SQL; all can without it. Others are null, or an error if the field can't be null. */
  readonly isSendable?: (column: string) => string;
  readonly sort: Sort<Value>;
  /** Another order, for programs: by code point. */
  readonly codePointSort?: Sort<Value>;
  /** Callers can ask for a range of such values. */
  readonly range?: Omit<RangeType, 'of'>;
}
