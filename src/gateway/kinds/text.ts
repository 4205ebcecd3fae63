import type { z } from 'zod';

import { characters, Text } from '../contract/parse.ts';
import type { Kind, Limits, Sort } from './kind.ts';

/** Text of at most some characters (code points). */
const upTo = (maxLength: number): z.ZodType<string> =>
  Text.refine(
    // A character has one or two code units.
    (text) => text.length <= 2 * maxLength && characters(text) <= maxLength,
    { error: `must have at most ${maxLength} characters.`, params: { code: 'TOO_LONG' } },
  ).meta({ maxLength });

/** Text that may be empty. */
const toPart = ({ maxLength }: Limits): z.ZodType<string> =>
  maxLength === null ? Text : upTo(maxLength);

/** Text that is not empty, and not only white space. It is stored unchanged. */
const toRequired = (limits: Limits): z.ZodType<string> =>
  toPart(limits)
    .refine((text) => text.trim() !== '', {
      error: 'must not be blank.',
      params: { code: 'REQUIRED' },
    })
    .meta({ minLength: 1, ...(limits.maxLength !== null && { maxLength: limits.maxLength }) });

/** The order of texts for programs. */
export const BY_CODE_POINT: Sort<string> = {
  // Independent of the collation of the database.
  sql: (column) => `${column} collate "C"`,
  textOf: String,
  asText: (column) => column,
  text: Text,
  note: ', by code point: upper case before lower case',
};

/** Text. If its column is not null, it must not be empty. */
export const TEXT: Kind<string> & {
  /** Validates a part of a text. */
  readonly part: Kind<string>['rule'];
} = {
  graphql: 'String',
  rule: (limits) => (limits.isNullable ? toPart(limits) : toRequired(limits)),
  part: toPart,
  sqlType: 'text',
  toParameter: (text) => text,
  fromText: String,
  json: (column) => [{ sql: `to_json(${column})::text` }],
  sort: {
    ...BY_CODE_POINT,
    // For people, as it is in the indexes: independent of the collation of the database, too.
    sql: (column) => `folded(${column}) collate "C"`,
    toKey: 'folded',
    note: ', ignoring case and accents',
  },
  codePointSort: BY_CODE_POINT,
};
