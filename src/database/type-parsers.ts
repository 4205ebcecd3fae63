/** A point in time that keeps its text: to write it again would take longer than to read it. */
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

// What PostgreSQL writes of a point in time with DateStyle ISO in UTC: `2026-12-03 09:00:00.5+00`.
const ISO_IN_UTC = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,3})?\+00$/;

/**
 * Reads a point in time. One in any other form is an invalid Date, which fails the field that shows
 * it: a guess could be another day. So are years beyond 9999, BC and infinity, which the rules of the
 * store don't let in.
 */
function parseTime(text: string): Date {
  if (!ISO_IN_UTC.test(text)) return new Date(Number.NaN);
  const milliseconds = text.slice(20, -3).padEnd(3, '0');
  return new StoredDate(`${text.slice(0, 10)}T${text.slice(11, 19)}.${milliseconds}Z`);
}

const INT8 = 20;
const TIMESTAMPTZ = 1184;

/** Reads the text of values that a driver would leave as it is, or reads slowly; by type. */
export const TYPE_PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  [INT8]: BigInt,
  [TIMESTAMPTZ]: parseTime,
};
