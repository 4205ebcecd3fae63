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

/** Reads what PostgreSQL, in UTC, writes of a point in time: `2026-12-03 09:00:00.5+00`. */
function parseTime(text: string): Date {
  // A year of more than four digits, one BC, or infinity: no rule of the store lets these in.
  if (text[10] !== ' ' || !text.endsWith('+00')) return new Date(text);
  const milliseconds = text.slice(20, -3).padEnd(3, '0');
  return new StoredDate(`${text.slice(0, 10)}T${text.slice(11, 19)}.${milliseconds}Z`);
}

const INT8 = 20;
const TIMESTAMPTZ = 1184;

/** Reads the text of values that a driver would leave as it is, or reads slowly; by type. */
export const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  [INT8]: BigInt,
  [TIMESTAMPTZ]: parseTime,
};
