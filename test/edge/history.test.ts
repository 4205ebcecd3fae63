import { describe, expect, it } from 'vitest';

import { createHistoryStore, type HistoryStore } from '../../src/telemetry/history.ts';
import { DURATION_BUCKETS } from '../../src/telemetry/metrics.ts';
import { createClock, type Sample } from '../../src/telemetry/sample.ts';

const SAMPLE_MS = 10_000;
const SAMPLES_KEPT = 90;
const POOL = { max: 10, total: 4, idle: 1, waiting: 2 };

/** Creates a store, whose time a test sets to the end of a sample. */
function createStore(): HistoryStore & { endSample: (slot: number) => void } {
  let now = 0;
  const clock = createClock(SAMPLE_MS, () => now);
  return {
    ...createHistoryStore(clock),
    endSample: (slot) => {
      now = slot * SAMPLE_MS + clock.settleMs + 1;
    },
  };
}

/** Returns one duration for each count: the number of requests up to each bound. */
const durationsOf = (counts: Readonly<Record<number, number>>): number[] =>
  [...DURATION_BUCKETS, Infinity].map((bound) => counts[bound] ?? 0);

const toSample = (sample: Partial<Sample>): Sample => ({
  slot: 1,
  pid: 1,
  seconds: 10,
  requests: 0,
  durations: durationsOf({}),
  errors: {},
  deprecated: [],
  busy: 0.5,
  memoryBytes: 100,
  ...sample,
});

describe('the history of several processes', () => {
  it('adds up what all did in the time of one sample', () => {
    const { add, endSample, read } = createStore();
    add(toSample({ pid: 1, requests: 10, errors: { NOT_FOUND: 5 }, pool: POOL, busy: 0.2 }));
    add(toSample({ pid: 2, requests: 30, errors: { NOT_FOUND: 1 }, pool: POOL, busy: 0.7 }));
    endSample(1);
    const { processes, samples, requests, errors } = read();
    expect(processes).toBe(2);
    expect(requests).toEqual({ recent: 40, total: 40 });
    expect(errors).toEqual([{ code: 'NOT_FOUND', recent: 6, total: 6 }]);
    expect(samples).toMatchObject([
      {
        requestsPerSecond: 4,
        errorsPerSecond: 0.6,
        eventLoopBusy: 0.7,
        memoryBytes: 200,
        pool: { max: 20, total: 8, idle: 2, waiting: 4 },
      },
    ]);
  });

  it('counts a process once whose late sample has the number of its next one', () => {
    const { add, endSample, read } = createStore();
    // Its process was blocked: it covers 16 of 20 seconds.
    add(toSample({ pid: 1, seconds: 16, requests: 16, errors: { INTERNAL_SERVER_ERROR: 1 } }));
    add(toSample({ pid: 2, requests: 10, pool: POOL }));
    add(toSample({ pid: 1, seconds: 4, requests: 24, pool: POOL, busy: 1, memoryBytes: 300 }));
    endSample(1);
    const { processes, samples, requests, errors } = read();
    expect(processes).toBe(2);
    expect(requests).toEqual({ recent: 50, total: 50 });
    expect(errors).toEqual([{ code: 'INTERNAL_SERVER_ERROR', recent: 1, total: 1 }]);
    expect(samples).toMatchObject([
      { requestsPerSecond: 3, eventLoopBusy: 0.6, memoryBytes: 400, pool: { max: 20 } },
    ]);
  });

  it('estimates the latency from the buckets', () => {
    const { add, endSample, read } = createStore();
    add(toSample({ pid: 1, durations: durationsOf({ 0.01: 50, 0.025: 30 }) }));
    add(toSample({ pid: 2, durations: durationsOf({ 0.025: 18, 1: 2 }) }));
    add(toSample({ slot: 2 }));
    add(toSample({ slot: 3, durations: durationsOf({ Infinity: 1 }) }));
    endSample(3);
    expect(read().samples.map(({ p50Ms, p99Ms }) => [p50Ms, p99Ms])).toEqual([
      [10, 750],
      [null, null],
      [30_000, 30_000],
    ]);
  });

  it('has no sample before all processes had the time to add theirs', () => {
    const { add, endSample, read } = createStore();
    add(toSample({ requests: 1 }));
    expect(read()).toMatchObject({ processes: 0, samples: [], requests: { recent: 0, total: 0 } });
    endSample(1);
    expect(read()).toMatchObject({ processes: 1, requests: { recent: 1, total: 1 } });
  });

  it('keeps the counts of samples that are too old in the totals', () => {
    const { add, endSample, read } = createStore();
    const call = { operation: 'GET /pets/{petId}', caller: 'shop', calls: 2 };
    add(toSample({ requests: 2, errors: { NOT_FOUND: 1 }, deprecated: [call] }));
    endSample(1);
    add(toSample({ slot: SAMPLES_KEPT + 1, requests: 3, deprecated: [call] }));
    endSample(SAMPLES_KEPT + 1);
    expect(read()).toMatchObject({
      samples: [{ requestsPerSecond: 0.3 }],
      requests: { recent: 3, total: 5 },
      errors: [{ code: 'NOT_FOUND', recent: 0, total: 1 }],
      calls: [{ caller: 'shop', recent: 2, total: 4 }],
    });
  });

  it('names a bounded number of callers, and adds up the calls of the others', () => {
    const { add, endSample, read } = createStore();
    for (let worker = 0; worker < 20; worker += 1) {
      const deprecated = Array.from({ length: 100 }, (_, index) => ({
        operation: 'GET /pets/{petId}',
        caller: `caller ${worker} ${index}`,
        calls: 1,
      }));
      add(toSample({ pid: worker, deprecated }));
    }
    endSample(1);
    const { calls } = read();
    expect(calls).toHaveLength(501);
    expect(calls[0]).toMatchObject({ caller: 'other', recent: 1500, total: 1500 });
  });
});
