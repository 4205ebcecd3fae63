import type { PoolUse } from './metrics.ts';

/** How long one sample is by default, in milliseconds. */
const SAMPLE_MS = 10_000;
const NS_PER_MS = 1_000_000n;

/** Returns the milliseconds of a monotonic clock that all processes of a machine share. */
const machineMs = (): number => Number(process.hrtime.bigint() / NS_PER_MS);

/** Divides the time into samples. */
export interface Clock {
  /** How long one sample is, in milliseconds. */
  readonly sampleMs: number;
  /** How many milliseconds after its end a sample of all processes is complete. */
  readonly settleMs: number;
  /** Returns the number of the sample that ends now; samples of different processes with one number belong together. */
  readonly currentSlot: () => number;
  /** Returns how many milliseconds ago a sample ended. */
  readonly ageOf: (slot: number) => number;
  /** Returns how many milliseconds are left until the next sample ends. */
  readonly msToNextSample: () => number;
}

/** Creates a clock; `now` returns monotonic milliseconds. */
export function createClock(sampleMs = SAMPLE_MS, now = machineMs): Clock {
  // A process that starts shortly before the end of a sample takes a longer first one: a rate of so short a
  // time would say little.
  const minMs = sampleMs / 10;
  return {
    sampleMs,
    // The processes end a sample within milliseconds of each other.
    settleMs: sampleMs / 20,
    currentSlot: () => Math.round(now() / sampleMs),
    ageOf: (slot) => now() - slot * sampleMs,
    msToNextSample: () => {
      const left = sampleMs - (now() % sampleMs);
      return left < minMs ? left + sampleMs : left;
    },
  };
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
  /** The process id. */
  readonly pid: number;
  readonly seconds: number;
  readonly requests: number;
  /** The number of requests by duration: one for each bound of the histogram, then those above. */
  readonly durations: readonly number[];
  /** The number of errors by code. */
  readonly errors: Readonly<Record<string, number>>;
  /** Calls of deprecated operations and schema elements. */
  readonly deprecated: readonly Calls[];
  readonly pool?: PoolUse;
  /** The share of the time in which the event loop was not idle, 0 to 1. */
  readonly busy: number;
  readonly memoryBytes: number;
}
