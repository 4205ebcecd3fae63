import { performance } from 'node:perf_hooks';

import type { MetricValue, Registry } from 'prom-client';

import { DURATION_BUCKETS, type Metrics, type PoolUse } from './metrics.ts';
import type { Calls, Clock, Sample } from './sample.ts';

/** What a sampler reads of the metrics, and what else. */
export interface SampleOptions {
  /** The routes whose requests are counted. */
  readonly routes: ReadonlySet<string>;
  /** The deprecated operations and schema elements. */
  readonly deprecated: ReadonlySet<string>;
  readonly poolUse?: (() => PoolUse) | undefined;
  readonly clock: Clock;
}

type Values = readonly MetricValue<string>[];

const BOUNDS: readonly (number | string)[] = [...DURATION_BUCKETS, '+Inf'];

/** Returns by how much a total has grown since the last call. */
type Grow = (key: string, total: number) => number;

function createGrow(): Grow {
  const last = new Map<string, number>();
  return (key, total) => {
    const growth = total - (last.get(key) ?? 0);
    last.set(key, total);
    return growth;
  };
}

/** Returns the values of a metric; none if there is no such metric. */
async function valuesOf(registry: Registry | undefined, name: string): Promise<Values> {
  const metric = await registry?.getSingleMetric(name)?.get();
  return metric?.values ?? [];
}

/** Returns the number of new requests by duration, as in Sample. */
function countDurations(values: Values, routes: SampleOptions['routes'], grow: Grow): number[] {
  const totals = new Map<unknown, number>();
  for (const { labels, value } of values) {
    // The sum and the count of the durations have no bound.
    const { route, le: bound } = labels;
    if (bound === undefined || !routes.has(String(route))) continue;
    totals.set(bound, (totals.get(bound) ?? 0) + value);
  }
  const upTo = BOUNDS.map((bound) => grow(`up to ${bound}`, totals.get(bound) ?? 0));
  return upTo.map((count, index) => count - (upTo[index - 1] ?? 0));
}

/** Returns the number of new errors by code. */
function countErrors(
  values: Values,
  routes: SampleOptions['routes'],
  grow: Grow,
): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { labels, value } of values) {
    const [route, code] = [String(labels['route']), String(labels['code'])];
    if (!routes.has(route)) continue;
    const growth = grow(`error ${route} ${code}`, value);
    if (growth > 0) counts.set(code, (counts.get(code) ?? 0) + growth);
  }
  return Object.fromEntries(counts);
}

/** Returns the new calls of deprecated operations and schema elements. */
const countCalls = (values: Values, deprecated: SampleOptions['deprecated'], grow: Grow): Calls[] =>
  values
    .map(({ labels, value }) => ({
      operation: String(labels['operation']),
      caller: String(labels['caller']),
      calls: value,
    }))
    .filter(({ operation }) => deprecated.has(operation))
    .map((total) => ({
      ...total,
      calls: grow(`call ${total.operation} ${total.caller}`, total.calls),
    }))
    .filter(({ calls }) => calls > 0);

/**
 * Creates a function that takes the next sample of this process from its metrics. Requests cost nothing:
 * they are counted for /metrics anyway.
 */
export function createSampler(
  { registries: [registry] }: Metrics,
  { routes, deprecated, poolUse, clock }: SampleOptions,
): () => Promise<Sample> {
  const grow = createGrow();
  let start = performance.now();
  let loop = performance.eventLoopUtilization();
  return async () => {
    const [durations, errors, calls] = await Promise.all([
      valuesOf(registry, 'http_request_duration_seconds'),
      valuesOf(registry, 'request_errors_total'),
      valuesOf(registry, 'operation_calls_total'),
    ]);
    const now = performance.now();
    const seconds = (now - start) / 1000;
    start = now;
    const lastLoop = loop;
    loop = performance.eventLoopUtilization();
    const counts = countDurations(durations, routes, grow);
    return {
      slot: clock.currentSlot(),
      pid: process.pid,
      seconds,
      requests: counts.reduce((sum, count) => sum + count, 0),
      durations: counts,
      errors: countErrors(errors, routes, grow),
      deprecated: countCalls(calls, deprecated, grow),
      ...(poolUse && { pool: poolUse() }),
      busy: performance.eventLoopUtilization(loop, lastLoop).utilization,
      memoryBytes: process.memoryUsage.rss(),
    };
  };
}
