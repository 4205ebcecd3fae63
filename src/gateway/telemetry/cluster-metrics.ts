import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  AggregatorRegistry,
  Gauge,
  type MetricObject,
  type PrometheusContentType,
  Registry,
} from 'prom-client';

import { GatewayError } from '../contract/gateway-error.ts';

// A worker takes two seconds to respond if the database does not.
const WORKER_WAIT_MS = 3000;
const POLL_MS = 2;
// Less than Prometheus's default scrape timeout of ten seconds.
const PRIMARY_WAIT_MS = 5000;

/** The metrics of several registries, in the form in which processes exchange them. */
type Report = MetricObject[][];

/** A request for metrics, or the reply to all requests of a process. */
interface Message {
  /** Null in a request. */
  readonly metrics: Report | null;
}

const isMessage = (message: unknown): message is Message =>
  typeof message === 'object' && message !== null && 'metrics' in message;

// A message to a process that has just exited is lost; without a callback, `error` would be emitted.
const send = (to: Pick<Worker, 'send'>, message: Message): void =>
  void to.send(message, undefined, undefined, () => {});

const toReport = (registries: readonly Registry[]): Promise<Report> =>
  Promise.all(registries.map((registry) => registry.getMetricsAsJSON()));

const fromReport = (report: Report): Registry =>
  AggregatorRegistry.aggregate<PrometheusContentType>(report);

const findWorkers = (): Worker[] =>
  Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);

/** Returns the primary process's own metrics: which workers have responded, and when the gateway started. */
function createOwnMetrics(isUp: (worker: Worker) => boolean): Registry {
  const registry = new Registry();
  const registers = [registry];
  const up = new Gauge({
    name: 'worker_up',
    help: 'Whether each worker responded to this scrape within three seconds, by process id.',
    labelNames: ['pid'],
    registers,
  });
  for (const worker of findWorkers()) {
    up.set({ pid: worker.process.pid ?? 0 }, isUp(worker) ? 1 : 0);
  }
  const start = new Gauge({
    name: 'process_start_time_seconds',
    help: 'Start time of the primary process, in seconds since 1970.',
    registers,
  });
  start.set(Math.round(performance.timeOrigin / 1000));
  return registry;
}

/**
 * Makes the primary process report the metrics of all workers, most of them summed. If a worker does not respond, its
 * last metrics are used. Without them, a sum would fall and rise again, which Prometheus would treat as a counter reset
 * followed by many new calls.
 */
export function serveMetrics(): void {
  const last = new WeakMap<Worker, { readonly report: Report; readonly at: number }>();
  const collect = async (): Promise<Report> => {
    const start = performance.now();
    const isUp = (worker: Worker): boolean => (last.get(worker)?.at ?? -1) >= start;
    for (const worker of findWorkers()) send(worker, { metrics: null });
    while (!findWorkers().every(isUp) && performance.now() < start + WORKER_WAIT_MS) {
      await sleep(POLL_MS);
    }
    const reports = findWorkers().flatMap((worker) => last.get(worker)?.report ?? []);
    return toReport([fromReport(reports), createOwnMetrics(isUp)]);
  };
  cluster.on('message', (worker, message: unknown) => {
    if (!isMessage(message)) return;
    const { metrics: report } = message;
    if (report) last.set(worker, { report, at: performance.now() });
    else void collect().then((metrics) => send(worker, { metrics }));
  });
}

/** Reads the metrics of this process or, with several workers, of all of them. @throws GatewayError */
export type ReadMetrics = () => Promise<Registry>;

/** Creates the function that reads the metrics; `registries` are this process's registries. */
export function createReadMetrics(registries: readonly Registry[]): ReadMetrics {
  const { worker } = cluster;
  if (!worker) return async () => Registry.merge([...registries]);
  const waiting = new Set<(report: Report) => void>();
  worker.on('message', (message: unknown) => {
    if (!isMessage(message)) return;
    if (message.metrics) {
      for (const resolve of waiting) resolve(message.metrics);
      waiting.clear();
    } else void toReport(registries).then((metrics) => send(worker, { metrics }));
  });
  return async () => {
    const replied = new Promise<Report>((resolve) => void waiting.add(resolve));
    send(worker, { metrics: null });
    const report = await Promise.race([replied, sleep(PRIMARY_WAIT_MS, undefined, { ref: false })]);
    if (report) return fromReport(report);
    throw new GatewayError('SERVICE_UNAVAILABLE', 'The metrics could not be read: try again.');
  };
}
