import cluster from 'node:cluster';

import { StoreError } from '../contract/errors.ts';
import { askPrimary, createClusterRequest } from './cluster-requests.ts';
import { createHistoryStore, type History } from './history.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import { type Clock, createClock, type Sample } from './sample.ts';
import { createSampler, type SampleOptions } from './sampler.ts';

/** The message by which a worker adds a sample. */
interface SampleMessage {
  readonly historySample: Sample;
}

const isSampleMessage = (message: unknown): message is SampleMessage =>
  typeof message === 'object' && message !== null && 'historySample' in message;

const historyOfAll = createClusterRequest<History>('history');

/**
 * Lets the primary process keep the samples of all workers, so that those of a worker that dies stay, and
 * send them to the worker that requests them.
 */
export function serveClusterHistory(): void {
  const store = createHistoryStore(createClock());
  cluster.on('message', (_worker, message: unknown) => {
    if (isSampleMessage(message)) store.add(message.historySample);
  });
  historyOfAll.reply(store.read);
}

/** Requests the history from the primary process. @throws StoreError */
async function readFromPrimary(): Promise<History> {
  const history = await askPrimary(historyOfAll);
  if (history) return history;
  throw new StoreError('SERVICE_UNAVAILABLE', 'The history could not be read: try again.');
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
    read: readFromPrimary,
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
