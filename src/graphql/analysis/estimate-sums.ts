/** What an operation may take at most, whatever is in the store. */
export interface Estimate {
  readonly cost: number;
  /** The length of its data as JSON in UTF-8. */
  readonly bytes: number;
}

export const NOTHING: Estimate = { cost: 0, bytes: 0 };

/** Adds up; nested fragments could sum up to Infinity, of which a page of 0 rows would make NaN. */
export const add = (a: Estimate, b: Estimate): Estimate => ({
  cost: Math.min(a.cost + b.cost, Number.MAX_SAFE_INTEGER),
  bytes: Math.min(a.bytes + b.bytes, Number.MAX_SAFE_INTEGER),
});

export const times = (count: number, { cost, bytes }: Estimate): Estimate => ({
  cost: count * cost,
  bytes: count * bytes,
});
