import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';

import { StoreError } from '../contract/errors.ts';
import { createHistoryStore, type History } from './history.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import { type Clock, createClock, type Sample } from './sample.ts';
import { createSampler, type SampleOptions } from './sampler.ts';

// The primary process only hands connections over, so it replies within milliseconds.
const MAX_WAIT_MS = 2000;

/** The message by which a worker adds a sample. */
interface SampleMessage {
  readonly historySample: Sample;
}

/** The message by which a worker requests the history of all workers. */
interface HistoryRequest {
  readonly historyRequestId: number;
}

interface HistoryReply extends HistoryRequest {
  readonly history?: History;
}

const hasKey = (message: unknown, key: string): boolean =>
  typeof message === 'object' && message !== null && key in message;

const isSampleMessage = (message: unknown): message is SampleMessage =>
  hasKey(message, 'historySample');

const isHistoryRequest = (message: unknown): message is HistoryRequest =>
  hasKey(message, 'historyRequestId');

/**
 * Lets the primary process keep the samples of all workers, so that those of a worker that dies stay, and
 * send them to the worker that requests them.
 */
export function serveClusterHistory(): void {
  const store = createHistoryStore(createClock());
  cluster.on('message', (worker, message: unknown) => {
    if (isSampleMessage(message)) store.add(message.historySample);
    if (!isHistoryRequest(message) || !worker.isConnected()) return;
    worker.send({ ...message, history: store.read() } satisfies HistoryReply, () => {});
  });
}

/** Creates a function that requests the history from the primary process. @throws StoreError */
function createClusterReader(): () => Promise<History> {
  const pending = new Map<number, (reply: HistoryReply) => void>();
  let lastId = 0;
  process.on('message', (message) => {
    if (isHistoryRequest(message)) pending.get(message.historyRequestId)?.(message);
  });
  return async () => {
    lastId += 1;
    const request: HistoryRequest = { historyRequestId: lastId };
    const reply = new Promise<HistoryReply>((resolve) => {
      pending.set(lastId, resolve);
      process.send?.(request, undefined, undefined, (error) => error && resolve(request));
    });
    const timeout = sleep(MAX_WAIT_MS, request, { ref: false });
    const { history }: HistoryReply = await Promise.race([reply, timeout]);
    pending.delete(request.historyRequestId);
    if (history) return history;
    throw new StoreError('SERVICE_UNAVAILABLE', 'The history could not be read: try again.');
  };
}

/** Where a process adds its samples, and reads those of all processes. */
interface HistoryAccess {
  readonly add: (sample: Sample) => void;
  readonly read: () => History | Promise<History>;
}

/** In a worker the primary process has the history. */
function openHistory(clock: Clock): HistoryAccess {
  if (!cluster.isWorker) return createHistoryStore(clock);
  return {
    // Without the primary process the worker is about to stop.
    add: (historySample) =>
      void process.send?.(
        { historySample } satisfies SampleMessage,
        undefined,
        undefined,
        () => {},
      ),
    read: createClusterReader(),
  };
}

/** The history of the last minutes, which grows until it is stopped. */
export interface RunningHistory {
  /** Returns the history of all processes. @throws StoreError */
  readonly read: () => History | Promise<History>;
  readonly stop: () => void;
}

/** Takes a sample of this process at the end of each time span of the clock. */
export function startHistory(metrics: Metrics, options: SampleOptions, log: Log): RunningHistory {
  const { clock } = options;
  const { add, read } = openHistory(clock);
  const takeSample = createSampler(metrics, options);
  let timer: NodeJS.Timeout | undefined;
  const schedule = (): void => {
    timer = setTimeout(() => {
      schedule();
      takeSample()
        .then(add)
        .catch((error: unknown) => log.error({ err: error }, 'A sample of the metrics failed.'));
    }, clock.msToNextSample()).unref();
  };
  schedule();
  return { read, stop: () => clearTimeout(timer) };
}
