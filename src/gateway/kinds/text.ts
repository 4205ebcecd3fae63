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

/** Text that is stored unchanged. If the column is required, it is not blank. */
function toRule({ maxLength, isNullable }: ColumnLimits): z.ZodType<string> {
  const rule = maxLength === null ? Text : upTo(maxLength);
  if (isNullable) return rule;
  const blank = { error: 'must not be blank.', params: { code: 'REQUIRED' } };
  const limits = { minLength: 1, ...(maxLength !== null && { maxLength }) };
  return rule.refine((text) => text.trim() !== '', blank).meta(limits);
}

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

export const TEXT: Kind<string> = {
  graphql: 'String',
  rule: toRule,
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
