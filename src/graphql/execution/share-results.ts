import type { ExecutionResult } from 'graphql';
import { LRUCache } from 'lru-cache';

import { type Recipient, Recipients } from '../../database/recipient.ts';
import type { Estimate } from '../analysis/field-cost.ts';
import type { Operation } from '../analysis/operation.ts';
import { createFairQueue, type Enqueue } from '../fair-queue.ts';
import type { Stream } from '../streams.ts';
import type { Call, Execute } from './call.ts';

// Streams that keep up ask for the same result within milliseconds.
const MAX_RECENT = 50;
// How many results are made at the same time, so that requests are executed between them.
const MAX_EXECUTIONS = 10;
// A result that costs less, and reads no row, takes less time than a turn in a queue.
const MAX_IMMEDIATE = 300;
// A result that costs more is made alone, and then the queue rests. One that costs this takes about 1 ms.
const MAX_CHEAP = 1000;

/** What a result depends on. */
interface ResultKey {
  readonly root: object;
  readonly operation: Operation;
  /** The variables as JSON. */
  readonly variables: string;
}

/** The stream that needs a result, and the largest cost of the result. */
interface ResultRequest {
  readonly stream: Stream;
  readonly estimate: Estimate;
}

/** A result that is not yet made. */
interface Pending {
  readonly result: Promise<ExecutionResult>;
  /** The streams that wait for it. */
  readonly streams: Recipients;
}

/** Creates a function that numbers objects. */
function createNumbers(): (value: object) => number {
  const numbers = new WeakMap<object, number>();
  let last = 0;
  return (value) => {
    const known = numbers.get(value);
    if (known !== undefined) return known;
    last += 1;
    numbers.set(value, last);
    return last;
  };
}

const immediate: Enqueue = async (_callerKey, work) => work();

/** Creates the queues of results, and returns the one in which a result waits. */
function createQueues(): (estimate: Estimate) => Enqueue {
  // A stream has at most one result in a queue, so they have no other limit.
  const cheap = createFairQueue({ concurrency: MAX_EXECUTIONS, restFactor: 0 });
  const costly = createFairQueue({ concurrency: 1 });
  return ({ cost, statements }) => {
    if (statements === 0 && cost <= MAX_IMMEDIATE) return immediate;
    return cost > MAX_CHEAP ? costly : cheap;
  };
}

/**
 * Executes an operation once for all streams that have it with the same variables, as the result of a
 * change is the same for every caller. Callers take turns, and costly results wait for each other, not the
 * others for them. An execution stops when all streams that wait for it have ended.
 */
export function shareResults(
  execute: Execute,
): (call: Call, key: ResultKey, request: ResultRequest) => Promise<ExecutionResult> {
  const queueFor = createQueues();
  const pending = new Map<string, Pending>();
  const recent = new LRUCache<string, Promise<ExecutionResult>>({ max: MAX_RECENT });
  const numberOf = createNumbers();

  const make = async (
    key: string,
    call: Call,
    { stream, estimate }: ResultRequest,
    streams: Recipients,
  ): Promise<ExecutionResult> => {
    const enqueue = queueFor(estimate);
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
        streams.destroyed ? {} : execute({ ...call, context: { ...call.context, recipient } }),
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

  return (call, { root, operation, variables }, request) => {
    const key = `${numberOf(root)} ${numberOf(operation)} ${variables}`;
    const made = recent.get(key);
    if (made) return made;
    const known = pending.get(key);
    // One that all streams have left has no result.
    if (known && !known.streams.destroyed) {
      known.streams.add(request.stream);
      return known.result;
    }
    const streams = new Recipients();
    streams.add(request.stream);
    const result = make(key, call, request, streams);
    pending.set(key, { result, streams });
    return result;
  };
}
