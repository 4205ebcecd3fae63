import type { z } from 'zod';

import { characters, Text } from '../contract/parse.ts';
import { type ColumnLimits, type Kind, nullsLast, type Sort } from './kind.ts';

/** Text with a maximum number of characters (code points). */
const upTo = (maxLength: number): z.ZodType<string> =>
  Text.refine(
    // A character has one or two code units.
    (text) => text.length <= 2 * maxLength && characters(text) <= maxLength,
    { error: `must be at most ${maxLength} characters long.`, params: { code: 'TOO_LONG' } },
  ).meta({ maxLength });

/** Text that may be empty. */
const toOptional = ({ maxLength }: ColumnLimits): z.ZodType<string> =>
  maxLength === null ? Text : upTo(maxLength);

/** Text that is not blank. It is stored unchanged. */
const toRequired = (limits: ColumnLimits): z.ZodType<string> =>
  toOptional(limits)
    .refine((text) => text.trim() !== '', {
      error: 'must not be blank.',
      params: { code: 'REQUIRED' },
    })
    .meta({ minLength: 1, ...(limits.maxLength !== null && { maxLength: limits.maxLength }) });

/** The order of strings for programs. */
const BY_CODE_POINT: Sort<string> = {
  // Independent of the database's collation.
  sql: (column, isNullable) =>
    // An array of texts can't be compared with one of varchars.
    nullsLast(`${column}${isNullable ? '::text' : ''} collate "C"`, isNullable),
  textOf: String,
  asText: (column) => column,
  text: Text,
  note: ', comparing code points: upper case before lower case',
};

/** Text, which must not be blank unless the column is nullable. */
export const TEXT: Kind<string> = {
  graphql: 'String',
  rule: (limits) => (limits.isNullable ? toOptional(limits) : toRequired(limits)),
  sqlType: 'text',
  toParameter: (text) => text,
  fromText: String,
  json: (column) => [{ sql: `to_json(${column})::text` }],
  sort: {
    ...BY_CODE_POINT,
    // The order that suits people, identical to the expression in the indexes. It is also independent of the database's
    // collation.
    sql: (column, isNullable) => nullsLast(`folded(${column}) collate "C"`, isNullable),
    toKey: 'folded',
    note: ', ignoring case and accents',
  },
  codePointSort: BY_CODE_POINT,
};
