import type { PoolUse } from './metrics.ts';

/** How long one sample is, in milliseconds. */
export const SAMPLE_MS = 10_000;

const NS_PER_MS = 1_000_000n;
// A process that starts shortly before the end of a sample takes a longer first one: a rate of less than a
// second would say little.
const MIN_MS = 1000;

/** Returns the milliseconds of a clock that all processes of a machine share and nobody sets. */
const machineMs = (): number => Number(process.hrtime.bigint() / NS_PER_MS);

/** Returns the number of the sample that ends now; samples of different processes with one number belong together. */
export const currentSlot = (): number => Math.round(machineMs() / SAMPLE_MS);

/** Returns how many milliseconds ago a sample ended. */
export const ageOf = (slot: number): number => machineMs() - slot * SAMPLE_MS;

/** Returns how many milliseconds are left until the next sample ends. */
export function msToNextSample(): number {
  const left = SAMPLE_MS - (machineMs() % SAMPLE_MS);
  return left < MIN_MS ? left + SAMPLE_MS : left;
}

/** Calls of one operation or schema element by one caller. */
export interface Calls {
  readonly operation: string;
  readonly caller: string;
  readonly calls: number;
}

/** What one process did since its last sample, and its state now. All counts are of this time alone. */
export interface Sample {
  readonly slot: number;
  readonly seconds: number;
  readonly requests: number;
  /** The number of requests by duration: one for each bound of the histogram, then those above. */
  readonly durations: readonly number[];
  /** The number of errors by code. */
  readonly errors: Readonly<Record<string, number>>;
  /** Calls of what is deprecated. */
  readonly deprecated: readonly Calls[];
  readonly pool?: PoolUse;
  /** The share of the time in which the event loop was not idle, 0 to 1. */
  readonly busy: number;
  readonly memoryBytes: number;
}
