import { DURATION_BUCKETS, type PoolUse } from './metrics.ts';
import type { Calls, Clock, Sample } from './sample.ts';

/** How many samples are kept: of ten seconds, fifteen minutes. */
const MAX_SAMPLES = 90;
// Each process keeps at most a hundred names, but a worker that replaces another one may have new ones.
const MAX_CALLERS = 500;

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
  /** Calls of deprecated operations and schema elements. */
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

/** Joins two samples of one process: one that was taken late, and the next. */
function joinSamples(first: Sample, next: Sample): Sample {
  const codes = Object.keys({ ...first.errors, ...next.errors });
  return {
    ...next,
    seconds: first.seconds + next.seconds,
    requests: first.requests + next.requests,
    durations: next.durations.map((count, index) => count + (first.durations[index] ?? 0)),
    errors: Object.fromEntries(
      codes.map((code) => [code, (first.errors[code] ?? 0) + (next.errors[code] ?? 0)]),
    ),
    deprecated: [...first.deprecated, ...next.deprecated],
    busy: (first.busy * first.seconds + next.busy * next.seconds) / (first.seconds + next.seconds),
  };
}

/** Creates a function that names the first callers of a sample by their names, and later ones `other`. */
function createCallerLimit(): (sample: Sample) => Sample {
  const known = new Set<string>();
  const limit = (calls: Calls): Calls => {
    const key = toKey(calls);
    if (!known.has(key) && known.size >= MAX_CALLERS) return { ...calls, caller: 'other' };
    known.add(key);
    return calls;
  };
  return (sample) => ({ ...sample, deprecated: sample.deprecated.map(limit) });
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

const toKey = ({ operation, caller }: Calls): string => `${operation} ${caller}`;

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
    for (const item of deprecated) {
      const key = toKey(item);
      const known = this.calls.get(key)?.calls ?? 0;
      this.calls.set(key, { ...item, calls: known + item.calls });
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

/** Creates a store of the last ninety samples of each process, and of some counts since the start. */
export function createHistoryStore(clock: Clock): HistoryStore {
  const { sampleMs, settleMs, ageOf } = clock;
  const startedAt = new Date(Date.now() - process.uptime() * 1000).toISOString();
  // Of the samples that are not kept any more.
  const removed = new Tally();
  const limitCallers = createCallerLimit();
  // By number, then by process id.
  const slots = new Map<number, Map<number, Sample>>();

  /** Returns the samples that have ended, by number, and removes those that are too old. */
  const readSlots = (): [slot: number, samples: Sample[]][] => {
    for (const [slot, samples] of slots) {
      if (ageOf(slot) <= MAX_SAMPLES * sampleMs) continue;
      slots.delete(slot);
      for (const sample of samples.values()) removed.add(sample);
    }
    return [...slots]
      .filter(([slot]) => ageOf(slot) > settleMs)
      .toSorted(([a], [b]) => a - b)
      .map(([slot, samples]) => [slot, [...samples.values()]]);
  };

  return {
    add: (sample) => {
      const { slot, pid } = sample;
      const samples = slots.get(slot) ?? new Map<number, Sample>();
      const limited = limitCallers(sample);
      const earlier = samples.get(pid);
      slots.set(slot, samples.set(pid, earlier ? joinSamples(earlier, limited) : limited));
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
        sampleSeconds: sampleMs / 1000,
        processes: ended.at(-1)?.[1].length ?? 0,
        samples: ended.map(([slot, samples]) => toPoint(samples, ageOf(slot))),
        requests: { recent: recent.requests, total: totals.requests },
        errors: joinErrors(recent, totals),
        calls: joinCalls(recent, totals),
      };
    },
  };
}
