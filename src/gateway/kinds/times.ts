import { GraphQLError, GraphQLScalarType, type ValueNode } from 'graphql';
import { DateResolver, DateTimeResolver } from 'graphql-scalars';
import { z } from 'zod';

import type { Kind } from './kind.ts';

// The sort key of a missing value.
const LATEST = 'infinity';

// The first moment of year 1 and the last moment of year 9999. RFC 3339 supports neither years BC nor years after 9999.
const FIRST = '0001-01-01T00:00:00Z';
const LAST = '9999-12-31T23:59:59.999Z';
const FIRST_MS = Date.parse(FIRST);
const LAST_MS = Date.parse(LAST);

/** A Date that keeps the text from which it was parsed. Returning this text is faster than formatting the Date. */
class StoredDate extends Date {
  readonly #text: string;

  constructor(text: string) {
    super(text);
    this.#text = text;
  }

  override toISOString(): string {
    return this.#text;
  }
}

// PostgreSQL's format of a time with DateStyle ISO in UTC: `2026-12-03 09:00:00.5+00`.
const ISO_IN_UTC = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,3})?\+00$/;

// PostgreSQL's format of a time in JSON. In most time zones, offsets from UTC had seconds before about 1900:
// `1880-01-01T12:00:00+00:09:21`.
const ISO_WITH_OFFSET = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)([+-])(\d\d:\d\d)(?::(\d\d))?$/;

/**
 * Parses a time in one of these formats. Any other format results in an invalid Date, so that the field fails: a guess
 * could be a different day. The same applies to `infinity`, years after 9999 and years BC, which the input rules reject.
 */
function parseTime(text: string): Date {
  if (ISO_IN_UTC.test(text)) {
    const milliseconds = text.slice(20, -3).padEnd(3, '0');
    return new StoredDate(`${text.slice(0, 10)}T${text.slice(11, 19)}.${milliseconds}Z`);
  }
  const [, local, sign, offset, seconds = '0'] = ISO_WITH_OFFSET.exec(text) ?? [];
  const time = Date.parse(`${local}${sign}${offset}`) - Number(`${sign}${seconds}`) * 1000;
  return new Date(FIRST_MS <= time && time <= LAST_MS ? time : Number.NaN);
}

/** Parses a day as midnight in UTC. Invalid values are treated as in parseTime. */
const parseDay = (text: string): Date =>
  new Date(/^\d{4}-\d\d-\d\d$/.test(text) ? text : Number.NaN);

const rangeRule = (noun: string) =>
  z
    .date(`must be a ${noun}.`)
    .min(new Date(FIRST_MS), 'must not be before the year 1.')
    .max(new Date(LAST_MS), 'must not be after the year 9999.');

const Time = rangeRule('date').meta({ type: 'string', format: 'date-time' });
const Day = rangeRule('day').meta({ type: 'string', format: 'date' });

/** Returns SQL for a time in RFC 3339, in JavaScript's format; null for infinite times and years outside 1 to 9999. */
export const timeAsText = (column: string): string =>
  `case when ${column} between '${FIRST}' and '${LAST}' then to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') end`;

const dayAsText = (column: string): string =>
  `case when ${column} between '0001-01-01' and '9999-12-31' then to_char(${column}, 'YYYY-MM-DD') end`;

/** Formats a date as YYYY-MM-DD, in UTC. */
export const toDay = (day: Date): string => day.toISOString().slice(0, 10);

/** Creates the sort for times or days. A missing value counts as the latest. */
const sortTimes = (
  sqlType: string,
  textOf: (value: Date) => string,
  writeText: (column: string) => string,
  text: z.ZodType<string>,
): Kind<Date>['sort'] => ({
  // Identical to the expression in the indexes.
  sql: (column, isNullable) =>
    isNullable ? `coalesce(${column}, '${LATEST}'::${sqlType})` : column,
  nullAs: LATEST,
  textOf,
  asText: (column) => `case when ${column} is null then '${LATEST}' else ${writeText(column)} end`,
  text: text.or(z.literal(LATEST)),
});

/** Returns parsing functions for a scalar, with errors that describe the expected input. */
function parseOr({ parseValue, parseLiteral }: GraphQLScalarType<Date, unknown>, expected: string) {
  const attempt = (parse: () => Date, node: ValueNode | null): Date => {
    try {
      return parse();
    } catch {
      throw new GraphQLError(`must be ${expected}.`, { nodes: node });
    }
  };
  return {
    parseValue: (value: unknown) => attempt(() => parseValue(value), null),
    parseLiteral: (node: ValueNode) => attempt(() => parseLiteral(node), node),
  };
}

/** A point in time, with milliseconds. */
export const DATE_TIME: Kind<Date> = {
  graphql: 'DateTime',
  scalar: new GraphQLScalarType({
    ...DateTimeResolver.toConfig(),
    ...parseOr(
      DateTimeResolver,
      'a date and time with an offset from UTC, such as 2026-12-03T09:00:00Z',
    ),
    description:
      'A point in time (RFC 3339). Input must contain an offset from UTC. Output is in UTC, ' +
      'with milliseconds.',
    specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339',
    // Returns the text that JSON.stringify would write for a Date, in half the time.
    serialize: (value) => DateTimeResolver.serialize(value).toISOString(),
  }),
  rule: () => Time,
  sqlType: 'timestamptz',
  toParameter: (time) => time.toISOString(),
  oid: 1184,
  fromText: parseTime,
  json: (column) => ['"', { sql: timeAsText(column) }, '"'],
  sort: sortTimes(
    'timestamptz',
    (time) => time.toISOString(),
    timeAsText,
    z.iso.datetime({ precision: 3 }).refine((text) => Time.safeParse(new Date(text)).success),
  ),
  range: {
    name: 'TimeRange',
    description: 'A time range. A missing bound leaves that end open.',
  },
};

/** A calendar day without time or time zone: a Date at midnight in UTC. */
export const DATE: Kind<Date> = {
  graphql: 'Date',
  scalar: new GraphQLScalarType({
    ...DateResolver.toConfig(),
    ...parseOr(DateResolver, 'a day, such as 2026-12-03'),
    description: 'A calendar day (RFC 3339, full-date), such as 2026-12-03.',
    serialize: (value) => DateResolver.serialize(value),
  }),
  rule: () => Day,
  sqlType: 'date',
  toParameter: (day) => toDay(day),
  oid: 1082,
  fromText: parseDay,
  json: (column) => ['"', { sql: dayAsText(column) }, '"'],
  sort: sortTimes(
    'date',
    toDay,
    dayAsText,
    z.iso.date().refine((text) => Day.safeParse(new Date(text)).success),
  ),
  range: {
    name: 'DateRange',
    description: 'A range of days. A missing bound leaves that end open.',
  },
};
