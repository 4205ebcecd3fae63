import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';

import { AggregatorRegistry, Registry } from 'prom-client';

import { StoreError } from '../contract/errors.ts';
import type { Metrics } from './metrics.ts';

// Longer than prom-client's own timeout of 5 s for a worker that does not respond.
const MAX_WAIT_MS = 6000;

/** The message by which a worker requests the metrics of all workers. */
interface MetricsRequest {
  readonly metricsRequestId: number;
}

/** The reply of the primary process; without text if a worker did not report its metrics. */
interface MetricsReply extends MetricsRequest {
  readonly text?: string;
}

const isMetricsRequest = (message: unknown): message is MetricsRequest =>
  typeof message === 'object' && message !== null && 'metricsRequestId' in message;

/** Lets the primary process reply to its workers with the metrics of all workers. */
export function serveClusterMetrics(): void {
  const aggregator = new AggregatorRegistry();
  // prom-client's message to a worker that has just died is an error event; without a listener it would
  // end the primary process.
  cluster.on('fork', (worker) => worker.on('error', () => {}));
  cluster.on('message', (worker, message: unknown) => {
    if (!isMetricsRequest(message)) return;
    const reply = (text?: string): void => {
      if (worker.isConnected()) worker.send({ ...message, ...(text && { text }) }, () => {});
    };
    void aggregator.clusterMetrics().then(reply, () => reply());
  });
}

/** Creates a function that requests the metrics of all workers from the primary process. */
function createClusterReader(): () => Promise<string> {
  const pending = new Map<number, (reply: MetricsReply) => void>();
  let lastId = 0;
  process.on('message', (message) => {
    if (isMetricsRequest(message)) pending.get(message.metricsRequestId)?.(message);
  });
  return async () => {
    lastId += 1;
    const request: MetricsRequest = { metricsRequestId: lastId };
    const reply = new Promise<MetricsReply>((resolve) => {
      pending.set(lastId, resolve);
      process.send?.(request, undefined, undefined, (error) => error && resolve(request));
    });
    const timeout = sleep(MAX_WAIT_MS, request, { ref: false });
    const { text }: MetricsReply = await Promise.race([reply, timeout]);
    pending.delete(request.metricsRequestId);
    if (text) return text;
    throw new StoreError(
      'SERVICE_UNAVAILABLE',
      'Not all workers reported their metrics: try again.',
    );
  };
}

/**
 * Creates a function that returns the metrics in the text format of Prometheus. In a worker they are the
 * metrics of all workers, most of them summed; then it throws SERVICE_UNAVAILABLE if a worker does not
 * respond within five seconds.
 */
export function createMetricsReader({ registries }: Metrics): () => Promise<string> {
  if (!cluster.isWorker) return () => Registry.merge([...registries]).metrics();
  AggregatorRegistry.setRegistries([...registries]);
  // Its constructor lets prom-client respond to the primary process.
  void new AggregatorRegistry();
  return createClusterReader();
}
