/** A time that keeps its text, because formatting a Date takes longer than parsing it. */
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

// How PostgreSQL formats a time with DateStyle ISO in UTC: `2026-12-03 09:00:00.5+00`.
const ISO_IN_UTC = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,3})?\+00$/;

const INFINITE = /^-?infinity$/;

/** Whether a time is `infinity` or `-infinity`: it is an invalid Date that keeps its text. */
export const isInfinite = (time: Date): boolean =>
  time instanceof StoredDate && INFINITE.test(time.toISOString());

/** Parses a time as JSON of PostgreSQL has it. */
export const parseJsonTime = (text: string): Date =>
  INFINITE.test(text) ? new StoredDate(text) : new Date(text);

/**
 * Parses a time. Any other form gives an invalid Date, so that its field fails, as a guess could be
 * another day. The same is true for years after 9999 and BC, which the store rejects.
 */
function parseTime(text: string): Date {
  if (INFINITE.test(text)) return new StoredDate(text);
  if (!ISO_IN_UTC.test(text)) return new Date(Number.NaN);
  const milliseconds = text.slice(20, -3).padEnd(3, '0');
  return new StoredDate(`${text.slice(0, 10)}T${text.slice(11, 19)}.${milliseconds}Z`);
}

const INT8 = 20;
const TIMESTAMPTZ = 1184;

/** Parsers by type, for values that a driver would leave as text or parse slowly. */
export const TYPE_PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  [INT8]: BigInt,
  [TIMESTAMPTZ]: parseTime,
};
