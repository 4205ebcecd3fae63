import type { ExecutionResult } from 'graphql';
import { LRUCache } from 'lru-cache';

import type { Change } from '../../changes/change-log.ts';
import { type Recipient, Recipients } from '../../database/recipient.ts';
import { perObject } from '../../tables/per-object.ts';
import { createFairQueue } from '../fair-queue.ts';
import type { Stream } from '../streams.ts';
import type { Call, Execute } from './call.ts';

// Streams that keep up request the same result within milliseconds of each other, so a few recent results are enough.
const MAX_RECENT = 50;
// How many cheap results are computed at the same time. Other requests run between them.
const MAX_EXECUTIONS = 10;
// Results that cost more than this are computed one at a time, with a rest after each long computation
// (fair-queue.ts). A result of this cost takes about 1 ms.
const MAX_CHEAP = 1000;

let numbers = 0;
const numberOf = perObject(() => {
  numbers += 1;
  return numbers;
});

interface ResultRequest {
  readonly root: Change;
  /** The variables as JSON. */
  readonly variables: string;
  readonly stream: Stream;
}

/**
 * Executes an operation once per change for all streams that request it with the same variables, because the result is
 * the same for every caller. Callers take turns. Costly results have their own queue, so cheap results do not wait for
 * them. An execution stops when all streams that wait for it have ended. A result is
 *
 *   pending     while it is computed: streams that request it wait
 *   abandoned   if all waiting streams have ended: the next request starts a new execution
 *   recent      once it is computed, for streams that request it later
 */
export function shareResults(
  execute: Execute,
): (call: Call, request: ResultRequest) => Promise<ExecutionResult> {
  // The queues are unlimited, because each stream has at most one result in them.
  const cheap = createFairQueue({ concurrency: MAX_EXECUTIONS, restFactor: 0 });
  const costly = createFairQueue({ concurrency: 1 });
  // The results in progress, with the streams that wait for them.
  const pending = new Map<string, { result: Promise<ExecutionResult>; streams: Recipients }>();
  const recent = new LRUCache<string, Promise<ExecutionResult>>({ max: MAX_RECENT });

  const make = async (
    key: string,
    call: Call,
    { root, stream }: ResultRequest,
    streams: Recipients,
  ): Promise<ExecutionResult> => {
    const enqueue = call.estimate.cost > MAX_CHEAP ? costly : cheap;
    let isMade = false;
    const recipient: Recipient = {
      // `isMade` is also true once the result has timed out.
      get destroyed() {
        return isMade || streams.destroyed;
      },
    };
    // Waits until `pending` contains the result.
    await Promise.resolve();
    try {
      return await enqueue(stream.callerKey, () =>
        streams.destroyed
          ? {}
          : execute({ ...call, root, context: { ...call.context, recipient } }),
      );
    } finally {
      isMade = true;
      const own = pending.get(key);
      if (own?.streams === streams) {
        pending.delete(key);
        if (!streams.destroyed) recent.set(key, own.result);
      }
    }
  };

  return (call, request) => {
    const { root, variables, stream } = request;
    const key = `${numberOf(root)} ${numberOf(call.operation)} ${variables}`;
    const made = recent.get(key);
    if (made) return made;
    const known = pending.get(key);
    // An execution returns no result if all of its streams have ended.
    if (known && !known.streams.destroyed) {
      known.streams.add(stream);
      return known.result;
    }
    const streams = new Recipients();
    streams.add(stream);
    const result = make(key, call, request, streams);
    pending.set(key, { result, streams });
    return result;
  };
}
