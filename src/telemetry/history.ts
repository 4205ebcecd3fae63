import { DURATION_BUCKETS, type PoolUse } from './metrics.ts';
import { ageOf, type Calls, type Sample, SAMPLE_MS } from './sample.ts';

/** How many samples are kept: fifteen minutes. */
const MAX_SAMPLES = 90;
// The processes end a sample within milliseconds of each other.
const SETTLE_MS = 500;

/** What all processes together did in the time of one sample. */
interface Point {
  /** When it ended, in RFC 3339. */
  readonly at: string;
  readonly requestsPerSecond: number;
  readonly errorsPerSecond: number;
  /** The durations in milliseconds that half and 99 of 100 requests did not exceed; null without requests. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** How the connections to PostgreSQL were used at its end; not with the embedded database. */
  readonly pool?: PoolUse;
  /** The share of the time in which the event loop of the busiest process was not idle, 0 to 1. */
  readonly eventLoopBusy: number;
  readonly memoryBytes: number;
}

/** A number of the last minutes, and of all the time since the start. */
interface Count {
  readonly recent: number;
  readonly total: number;
}

/** What is known about the last minutes. */
export interface History {
  /** When the first process started, in RFC 3339. */
  readonly startedAt: string;
  readonly sampleSeconds: number;
  /** The number of processes in the last sample. */
  readonly processes: number;
  /** The oldest first. */
  readonly samples: readonly Point[];
  readonly requests: Count;
  readonly errors: readonly (Count & { readonly code: string })[];
  /** Calls of what is deprecated. */
  readonly calls: readonly (Count & { readonly operation: string; readonly caller: string })[];
}

const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, number) => total + number, 0);

/**
 * Estimates the duration, in seconds, that a share of the requests did not exceed, as Prometheus' histogram_quantile
 * does: the durations between two bounds count as spread evenly.
 */
function quantile(share: number, durations: readonly number[]): number | undefined {
  const rank = share * sum(durations);
  if (rank === 0) return undefined;
  let below = 0;
  for (const [index, bound] of DURATION_BUCKETS.entries()) {
    const count = durations[index] ?? 0;
    const lower = DURATION_BUCKETS[index - 1] ?? 0;
    if (count > 0 && below + count >= rank) {
      return lower + (bound - lower) * ((rank - below) / count);
    }
    below += count;
  }
  return DURATION_BUCKETS.at(-1);
}

/** Rounds to a number of digits that a plot can show. */
const round = (number: number): number => Number(number.toPrecision(4));

const toMs = (seconds: number | undefined): number | null =>
  seconds === undefined ? null : round(seconds * 1000);

/** Adds the connections of several processes; undefined without any. */
function sumPools(samples: readonly Sample[]): PoolUse | undefined {
  const pools = samples.flatMap(({ pool }) => pool ?? []);
  if (pools.length === 0) return undefined;
  return {
    total: sum(pools.map(({ total }) => total)),
    idle: sum(pools.map(({ idle }) => idle)),
    waiting: sum(pools.map(({ waiting }) => waiting)),
    max: sum(pools.map(({ max }) => max)),
  };
}

/** Joins the samples that all processes took at the same time. */
function toPoint(samples: readonly Sample[], ageMs: number): Point {
  const perSecond = (countOf: (sample: Sample) => number): number =>
    round(sum(samples.map((sample) => countOf(sample) / sample.seconds)));
  const durations = [...DURATION_BUCKETS, Infinity].map((_bound, index) =>
    sum(samples.map((sample) => sample.durations[index] ?? 0)),
  );
  const pool = sumPools(samples);
  return {
    at: new Date(Date.now() - ageMs).toISOString(),
    requestsPerSecond: perSecond(({ requests }) => requests),
    errorsPerSecond: perSecond(({ errors }) => sum(Object.values(errors))),
    p50Ms: toMs(quantile(0.5, durations)),
    p99Ms: toMs(quantile(0.99, durations)),
    ...(pool && { pool }),
    eventLoopBusy: round(Math.max(...samples.map(({ busy }) => busy))),
    memoryBytes: sum(samples.map(({ memoryBytes }) => memoryBytes)),
  };
}

/** Counts of one span of time. */
class Tally {
  requests: number;
  /** By code. */
  readonly errors: Map<string, number>;
  readonly calls: Map<string, Calls>;

  /** Starts with the counts of another span, or at zero. */
  constructor(start?: Tally) {
    this.requests = start?.requests ?? 0;
    this.errors = new Map(start?.errors);
    this.calls = new Map(start?.calls);
  }

  add({ requests, errors, deprecated }: Sample): void {
    this.requests += requests;
    for (const [code, count] of Object.entries(errors)) {
      this.errors.set(code, (this.errors.get(code) ?? 0) + count);
    }
    for (const { operation, caller, calls } of deprecated) {
      const key = `${operation} ${caller}`;
      const known = this.calls.get(key)?.calls ?? 0;
      this.calls.set(key, { operation, caller, calls: known + calls });
    }
  }
}

/** Orders counts, the largest first. */
const byCount = (one: Count, other: Count): number =>
  other.recent - one.recent || other.total - one.total;

const joinErrors = (recent: Tally, totals: Tally): History['errors'] =>
  [...totals.errors]
    .map(([code, total]) => ({ code, recent: recent.errors.get(code) ?? 0, total }))
    .toSorted(byCount);

const joinCalls = (recent: Tally, totals: Tally): History['calls'] =>
  [...totals.calls]
    .map(([key, { operation, caller, calls }]) => ({
      operation,
      caller,
      recent: recent.calls.get(key)?.calls ?? 0,
      total: calls,
    }))
    .toSorted(byCount);

/** The samples of all processes. */
export interface HistoryStore {
  readonly add: (sample: Sample) => void;
  readonly read: () => History;
}

/** Creates a store of the samples of the last fifteen minutes, and of some counts since the start. */
export function createHistoryStore(): HistoryStore {
  const startedAt = new Date(Date.now() - process.uptime() * 1000).toISOString();
  // Of the samples that are not kept any more.
  const removed = new Tally();
  const slots = new Map<number, Sample[]>();

  /** Returns the samples that have ended, by number, and removes those that are too old. */
  const readSlots = (): [slot: number, samples: Sample[]][] => {
    for (const [slot, samples] of slots) {
      if (ageOf(slot) <= MAX_SAMPLES * SAMPLE_MS) continue;
      slots.delete(slot);
      for (const sample of samples) removed.add(sample);
    }
    return [...slots].filter(([slot]) => ageOf(slot) > SETTLE_MS).toSorted(([a], [b]) => a - b);
  };

  return {
    add: (sample) => {
      slots.set(sample.slot, [...(slots.get(sample.slot) ?? []), sample]);
      readSlots();
    },
    read: () => {
      const ended = readSlots();
      const recent = new Tally();
      const totals = new Tally(removed);
      for (const sample of ended.flatMap(([, samples]) => samples)) {
        recent.add(sample);
        totals.add(sample);
      }
      return {
        startedAt,
        sampleSeconds: SAMPLE_MS / 1000,
        processes: ended.at(-1)?.[1].length ?? 0,
        samples: ended.map(([slot, samples]) => toPoint(samples, ageOf(slot))),
        requests: { recent: recent.requests, total: totals.requests },
        errors: joinErrors(recent, totals),
        calls: joinCalls(recent, totals),
      };
    },
  };
}
