import type { ExecutionResult } from 'graphql';
import { LRUCache } from 'lru-cache';

import type { Change } from '../../changes/change-log.ts';
import type { Stream } from '../../changes/streams.ts';
import { FairQueue } from '../../database/fair-queue.ts';
import { Recipients } from '../../database/recipient.ts';
import { addWait } from '../../telemetry/request-log.ts';
import { stringifyResult } from '../json-text.ts';
import type { Call } from '../request.ts';

// Streams that are a little apart request the same result. The size is that of the text of the results and their keys: in
// memory, results take up to 16 times as much, 16 MiB.
const MAX_RECENT = { maxSize: 2 ** 20, ttl: 2000 };
// How many cheap results are computed at the same time. Other requests run between them.
const MAX_EXECUTIONS = 10;
// Results that cost more than this are computed one at a time, with a rest after each long computation
// (fair-queue.ts). A result of this cost takes about 1 ms.
const MAX_CHEAP = 1000;

interface ResultRequest {
  readonly root: Change;
  readonly variables: string;
  readonly stream: Stream;
}

interface Pending {
  readonly result: Promise<ExecutionResult>;
  readonly streams: Recipients;
}

/** Whether ten results of an operation may be computed together: they are cheap, and recent ones have room for them. */
export const isSmall = ({ estimate }: Call): boolean =>
  estimate.cost <= MAX_CHEAP && MAX_EXECUTIONS * estimate.bytes <= MAX_RECENT.maxSize;

/**
 * Executes an operation once per change for all streams that request it with the same variables and `onError`. Callers take
 * turns; cheap results do not wait for costly ones. An execution stops when all streams that wait have ended. A result is
 *
 *   pending     while it is computed: streams that request it wait
 *   abandoned   if all waiting streams have ended: the next request starts a new execution
 *   recent      for two seconds once it is computed without an error, for streams that request it later
 */
export function shareResults(
  execute: (call: Call, root: Change) => ExecutionResult | Promise<ExecutionResult>,
): (call: Call, request: ResultRequest) => Promise<ExecutionResult> {
  // The queues are unlimited, because each stream has at most ten results in them.
  const cheap = new FairQueue({ concurrency: MAX_EXECUTIONS, pause: 'tick' });
  const costly = new FairQueue({ concurrency: 1, pause: 'rest' });
  const pending = new Map<string, Pending>();
  const recent = new LRUCache<string, Promise<ExecutionResult>>(MAX_RECENT);

  const start = (key: string, call: Call, { root, stream }: ResultRequest): Pending => {
    const streams = new Recipients();
    streams.add(stream);
    const queue = call.estimate.cost > MAX_CHEAP ? costly : cheap;
    const queuedAt = performance.now();
    const result = queue.run(stream.callerKey, () => {
      addWait(stream.requestLog, 'queueMs', queuedAt);
      return streams.destroyed ? {} : execute({ ...call, recipient: streams }, root);
    });
    const own = { result, streams };
    pending.set(key, own);
    const end = (made?: ExecutionResult): void => {
      // An abandoned result may have been replaced.
      if (pending.get(key) === own) pending.delete(key);
      if (made && !made.errors && !streams.destroyed) {
        recent.set(key, result, { size: key.length + stringifyResult(made).length });
      }
      // Statements may still run if the result has timed out.
      streams.clear();
    };
    result.then(end, () => end());
    return own;
  };

  return (call, request) => {
    const { root, variables, stream } = request;
    // By its position, because streams that catch up read the same change as another object.
    const position = `${root.transaction} ${root.id} ${root.changedAt.getTime()}`;
    const key = `${position} ${call.operation.id} ${call.params.onError} ${variables}`;
    const made = recent.get(key);
    if (made) return made;
    const waiting = pending.get(key);
    if (!waiting || waiting.streams.destroyed) return start(key, call, request).result;
    waiting.streams.add(stream);
    return waiting.result;
  };
}
