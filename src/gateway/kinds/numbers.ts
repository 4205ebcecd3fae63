import { GraphQLScalarType } from 'graphql';
import { BigIntResolver } from 'graphql-scalars';
import { z } from 'zod';

import { Id, isRowId } from '../contract/parse.ts';
import { type Kind, nullsLast } from './kind.ts';

/** Sorts by the value itself, which PostgreSQL and JavaScript format identically. */
export const sortBy = <Value>(text: z.ZodType<string>): Kind<Value>['sort'] => ({
  sql: nullsLast,
  textOf: String,
  asText: (column) => `${column}::text`,
  text,
});

/** An id: an int64, which a JSON number can't represent exactly. */
export const ID: Kind<bigint> = {
  graphql: 'ID',
  rule: () => Id,
  sqlType: 'bigint',
  toParameter: (id) => id,
  oid: 20,
  fromText: BigInt,
  json: (column) => ['"', { sql: column }, '"'],
  sort: sortBy(z.string().refine(isRowId)),
};

export const INT: Kind<number> = {
  graphql: 'Int',
  rule: () => z.int32('must be a whole number.'),
  sqlType: 'integer',
  toParameter: (value) => value,
  fromText: Number,
  json: (column) => [{ sql: `${column}::text` }],
  sort: sortBy(
    z
      .string()
      .regex(/^-?[0-9]+$/)
      .refine((text) => z.int32().safeParse(Number(text)).success),
  ),
};

export const BOOLEAN: Kind<boolean> = {
  graphql: 'Boolean',
  rule: () => z.boolean(),
  sqlType: 'boolean',
  toParameter: (value) => value,
  oid: 16,
  fromText: (text) => text === 't' || text === 'true',
  json: (column) => [{ sql: `${column}::text` }],
  sort: sortBy(z.enum(['true', 'false'])),
};

/** A sum of numbers, which can be larger than each of them. No column is of this kind. */
export const SUM: Kind<bigint> = {
  ...ID,
  graphql: 'BigInt',
  scalar: new GraphQLScalarType({
    ...BigIntResolver.toConfig(),
    description:
      'A whole number: beyond ±9007199254740991, a string of digits; else a JSON number.',
    serialize: (value) => (Number.isSafeInteger(Number(value)) ? Number(value) : String(value)),
  }),
  json: (n) => [
    { sql: `case when abs(${n}) < 1::bigint << 53 then ${n}::text else '"' || ${n} || '"' end` },
  ],
};
