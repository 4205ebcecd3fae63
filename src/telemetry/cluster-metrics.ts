import cluster, { type Worker } from 'node:cluster';

import {
  AggregatorRegistry,
  Gauge,
  type MetricObject,
  type PrometheusContentType,
  Registry,
} from 'prom-client';

import { StoreError } from '../contract/errors.ts';
import { askPrimary, createClusterRequest } from './cluster-requests.ts';
import type { Metrics } from './metrics.ts';

// A worker needs two seconds if the database does not respond.
const WORKER_WAIT_MS = 3000;

/** The metrics of each registry of a worker. */
type WorkerMetrics = MetricObject[][];

const metricsOfWorker = createClusterRequest<WorkerMetrics>('metrics of a worker');
const metricsOfAll = createClusterRequest<string>('metrics of all workers');

/** Adds whether each worker has responded. */
function reportWorkers(registry: Registry, workers: readonly Worker[], up: Set<Worker>): void {
  const gauge = new Gauge({
    name: 'worker_up',
    help: 'Whether each worker has reported its metrics within three seconds, by its process id.',
    labelNames: ['pid'],
    registers: [registry],
  });
  for (const worker of workers) gauge.set({ pid: worker.process.pid ?? 0 }, up.has(worker) ? 1 : 0);
}

/**
 * Lets the primary process reply to its workers with the metrics of all workers. Those of a worker that
 * does not respond are its last ones: without them a sum would fall and rise again, which Prometheus
 * takes for a restart and many new calls.
 */
export function serveClusterMetrics(): void {
  const lastOf = new WeakMap<Worker, WorkerMetrics>();
  metricsOfAll.reply(async () => {
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    const up = new Set<Worker>();
    await Promise.all(
      workers.map(async (worker) => {
        const metrics = await metricsOfWorker.send(worker, WORKER_WAIT_MS);
        if (!metrics) return;
        lastOf.set(worker, metrics);
        up.add(worker);
      }),
    );
    const registry = AggregatorRegistry.aggregate<PrometheusContentType>(
      workers.flatMap((worker) => lastOf.get(worker) ?? []),
    );
    reportWorkers(registry, workers, up);
    return registry.metrics();
  });
}

/**
 * Creates a function that returns the metrics in the text format of Prometheus. In a worker they are the
 * metrics of all workers, most of them summed.
 * @throws StoreError if the primary process does not respond
 */
export function createMetricsReader({ registries }: Metrics): () => Promise<string> {
  if (!cluster.isWorker) return () => Registry.merge([...registries]).metrics();
  metricsOfWorker.reply(() => Promise.all(registries.map((each) => each.getMetricsAsJSON())));
  return async () => {
    const text = await askPrimary(metricsOfAll);
    if (text !== undefined) return text;
    throw new StoreError('SERVICE_UNAVAILABLE', 'The metrics could not be read: try again.');
  };
}
