import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';

import { AggregatorRegistry, Registry } from 'prom-client';

import { StoreError } from '../contract/errors.ts';
import type { Metrics } from './metrics.ts';

// prom-client gives up on a worker that doesn't answer after 5 s; only the primary is left to wait for.
const MAX_WAIT_MS = 6000;

/** What a worker asks the primary process. */
interface MetricsRequest {
  readonly scrape: number;
}

/** What it is answered; no text where a worker did not tell its part. */
interface MetricsReply extends MetricsRequest {
  readonly text?: string;
}

const isMetricsRequest = (message: unknown): message is MetricsRequest =>
  typeof message === 'object' && message !== null && 'scrape' in message;

/** Lets the primary process answer its workers with the metrics of all of them. */
export function serveClusterMetrics(): void {
  const aggregator = new AggregatorRegistry();
  // To a worker that has just died prom-client's question is an error, which nobody else takes.
  cluster.on('fork', (worker) => worker.on('error', () => {}));
  cluster.on('message', (worker, message: unknown) => {
    if (!isMetricsRequest(message)) return;
    const reply = (text?: string): void => {
      if (worker.isConnected()) worker.send({ ...message, ...(text && { text }) }, () => {});
    };
    void aggregator.clusterMetrics().then(reply, () => reply());
  });
}

/** Makes what asks the primary process. */
function createAsk(): () => Promise<string> {
  const waiting = new Map<number, (reply: MetricsReply) => void>();
  let last = 0;
  process.on('message', (message) => {
    if (isMetricsRequest(message)) waiting.get(message.scrape)?.(message);
  });
  return async () => {
    last += 1;
    const request: MetricsRequest = { scrape: last };
    const answered = new Promise<MetricsReply>((resolve) => {
      waiting.set(request.scrape, resolve);
      process.send?.(request, undefined, undefined, (error) => error && resolve(request));
    });
    const tooLate = sleep(MAX_WAIT_MS, request, { ref: false });
    const { text }: MetricsReply = await Promise.race([answered, tooLate]);
    waiting.delete(request.scrape);
    if (text) return text;
    throw new StoreError('SERVICE_UNAVAILABLE', 'Not every worker told its metrics: ask again.');
  };
}

/**
 * Makes what writes the metrics in Prometheus' text format: in one of several workers, those of
 * all, most of them summed. What it makes throws SERVICE_UNAVAILABLE where a worker does not answer
 * within five seconds.
 */
export function createMetricsReader({ registries }: Metrics): () => Promise<string> {
  if (!cluster.isWorker) return () => Registry.merge([...registries]).metrics();
  AggregatorRegistry.setRegistries([...registries]);
  // Only making one lets prom-client answer the primary.
  void new AggregatorRegistry();
  return createAsk();
}
