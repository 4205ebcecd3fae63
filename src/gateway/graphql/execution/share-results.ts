import type { ExecutionResult } from 'graphql';
import { LRUCache } from 'lru-cache';

import { type Recipient, Recipients } from '../../database/recipient.ts';
import { perObject } from '../../tables/per-object.ts';
import { createFairQueue } from '../fair-queue.ts';
import type { Stream } from '../streams.ts';
import type { Call, Execute } from './call.ts';

// Streams that keep up ask for the same result within milliseconds.
const MAX_RECENT = 50;
// How many results are made at the same time, so that requests are executed between them.
const MAX_EXECUTIONS = 10;
// A result that costs more is made alone, and then the queue rests. One that costs this takes about 1 ms.
const MAX_CHEAP = 1000;

let numbers = 0;
const numberOf = perObject(() => {
  numbers += 1;
  return numbers;
});

/** The change whose result a stream needs. */
interface ResultRequest {
  readonly root: object;
  /** The variables as JSON. */
  readonly variables: string;
  readonly stream: Stream;
}

/**
 * Executes an operation once for all streams that have it with the same variables, as the result of a
 * change is the same for every caller. Callers take turns, and costly results wait for each other, not the
 * others for them. An execution stops when all streams that wait for it have ended. A result is
 *
 *   pending     until it is made: streams that ask for it wait
 *   abandoned   if all of them have ended before: the next stream that asks begins another one
 *   recent      once it is made, for streams that ask later
 */
export function shareResults(
  execute: Execute,
): (call: Call, request: ResultRequest) => Promise<ExecutionResult> {
  // A stream has at most one result in a queue, so they have no other limit.
  const cheap = createFairQueue({ concurrency: MAX_EXECUTIONS, restFactor: 0 });
  const costly = createFairQueue({ concurrency: 1 });
  // With the streams that wait for a result.
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
      // Also after its timeout.
      get destroyed() {
        return isMade || streams.destroyed;
      },
    };
    // Not before it is pending.
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
    // One that all streams have left has no result.
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
