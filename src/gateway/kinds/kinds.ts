import { z } from 'zod';

import type { Kind } from './kind.ts';
import { BOOLEAN, ID, INT, sortBy, SUM } from './numbers.ts';
import { TEXT } from './text.ts';
import { DATE, DATE_TIME } from './times.ts';

/** The kinds of values, by their types in schema.prisma (prisma/tables.js). */
export const KINDS = {
  BigInt: ID,
  Int: INT,
  String: TEXT,
  Boolean: BOOLEAN,
  DateTime: DATE_TIME,
  Date: DATE,
  Sum: SUM,
} as const;

export const kindOfScalar = (name: string): Kind | undefined =>
  Object.values<Kind>(KINDS).find(({ graphql }) => graphql === name);

/** Parsers of PostgreSQL's text by OID, for the drivers. */
export const TYPE_PARSERS: Readonly<Record<number, (text: string) => unknown>> = Object.fromEntries(
  Object.values<Kind>(KINDS).flatMap(({ oid, fromText }) => (oid ? [[oid, fromText]] : [])),
);

/** Returns the kind of the values of an enum in schema.prisma. */
export function kindOfEnum(name: string, sqlType: string, values: readonly string[]): Kind<string> {
  return {
    graphql: name,
    rule: () => z.enum(values),
    values,
    sqlType: `text::${sqlType}`,
    toParameter: (value) => value,
    // A value that only a later release knows fails in its own field.
    fromText: String,
    json: () => [],
    sort: { ...sortBy(z.enum(values)), note: ', in the order of the values of the enum' },
  };
}
