import { callerKeyOf } from '../auth/caller.ts';
import type { Config, Limits } from '../config/config.ts';
import type { OpenStream } from '../context.ts';
import { GatewayError, Unauthenticated, Unavailable } from '../contract/gateway-error.ts';
import { toGatewayError } from '../database/database-errors.ts';
import { findMost } from '../database/fair-queue.ts';
import type { Recipient } from '../database/recipient.ts';
import { AFTER_COST } from '../schema/change-types.ts';
import type { StreamMetrics } from '../telemetry/stream-metrics.ts';
import type { OperationRequest } from './request.ts';

/** The maximum cost of one subscription result. Most apps need at most 300. */
export const MAX_RESULT_COST = 5000;
// The cost per result that is available to each stream if a caller, or the process, has its maximum number of streams.
const COST_OF_STREAM = 500;
// The maximum delay of a timer. Even if a token is valid for longer, its streams end after 24 days.
const MAX_DELAY_MS = 2 ** 31 - 1;
const DISPLACED =
  'The gateway has too many subscriptions. Resubscribe later with your last cursor.';
const SHUTDOWN = 'The gateway is shutting down. Resubscribe with your last cursor.';

/** The results of one subscription. `destroyed` is true once it has ended. */
export interface Stream extends Recipient, OpenStream {
  /** Must be called when the stream has ended. */
  readonly close: () => void;
}

/** All open streams of the process. */
export interface Streams {
  /**
   * Opens a stream whose results cost at most `cost` each. If the process has no room left, the newest stream of the
   * caller with the most ends, unless this stream's caller would then have the most.
   * @throws GatewayError with TOO_MANY_STREAMS or SERVICE_UNAVAILABLE
   */
  readonly open: (request: OperationRequest, cost: number) => Stream;
  /** Ends all streams and rejects new ones. */
  readonly endAll: () => void;
}

/** A stream that is charged to its caller and to the process. */
interface Charge {
  readonly release: () => void;
  readonly abort: (reason: Error) => void;
}

/** The open streams of a caller, the newest last, and the sum of their costs. */
interface Use {
  readonly charges: Set<Charge>;
  cost: number;
}

/** Returns the budget for a number of streams. It always admits one stream, whatever its results cost. */
const budgetFor = (streams: number): number => Math.max(MAX_RESULT_COST, streams * COST_OF_STREAM);

const tooCostly = (cost: number, budget: number): GatewayError =>
  new GatewayError(
    'TOO_MANY_STREAMS',
    `Your subscriptions would cost ${cost} per change in total; the limit is ${budget}. ` +
      'Close some of them, or select fewer fields.',
  );

/**
 * Creates the function that charges a stream to its caller and to the process, and the set of all charges.
 * @throws GatewayError with TOO_MANY_STREAMS or SERVICE_UNAVAILABLE
 */
function createBudget({ maxStreams, maxStreamsPerCaller }: Limits) {
  const budget = budgetFor(maxStreams);
  const budgetOfSubject = budgetFor(maxStreamsPerCaller);
  // Behind a proxy, all callers without a token share one address, so an address gets half of the process's budget.
  const budgetOfAddress = budgetFor(maxStreams / 2);
  const useOf = new Map<string, Use>();
  const total: Use = { charges: new Set(), cost: 0 };

  const makeRoom = (measure: (use: Use) => number, least: number): void => {
    const most = findMost(useOf.values(), measure, least);
    const newest = most && [...most.charges].at(-1);
    if (!newest) throw new Unavailable('The gateway has too many subscriptions.');
    newest.release();
    newest.abort(new Unavailable(DISPLACED));
  };
  const charge = (
    callerKey: string,
    hasSubject: boolean,
    cost: number,
    abort: Charge['abort'],
  ): Charge => {
    const own = useOf.get(callerKey) ?? { charges: new Set(), cost: 0 };
    const count = own.charges.size + 1;
    if (hasSubject && count > maxStreamsPerCaller) throw new GatewayError('TOO_MANY_STREAMS');
    const ownBudget = hasSubject ? budgetOfSubject : budgetOfAddress;
    const ownCost = own.cost + cost;
    if (ownCost > ownBudget) throw tooCostly(ownCost, ownBudget);
    while (total.charges.size >= maxStreams) makeRoom(({ charges }) => charges.size, count);
    while (total.cost + cost > budget) makeRoom((use) => use.cost, ownCost);
    const release = (): void => {
      if (!own.charges.delete(charged)) return;
      own.cost -= cost;
      total.charges.delete(charged);
      total.cost -= cost;
      if (own.charges.size === 0) useOf.delete(callerKey);
    };
    const charged: Charge = { release, abort };
    useOf.set(callerKey, own);
    for (const use of [own, total]) {
      use.charges.add(charged);
      use.cost += cost;
    }
    return charged;
  };
  return { charge, all: total.charges };
}

/** Opens and ends the streams of the process. A stream ends at the latest when its caller's token expires. */
export function createStreams({ limits }: Config, metrics: StreamMetrics): Streams {
  const { charge, all } = createBudget(limits);
  let hasEnded = false;
  return {
    open: ({ caller, req, res, requestLog }, cost) => {
      if (hasEnded) throw new Unavailable(SHUTDOWN);
      const { subject, expiresAt } = caller;
      const callerKey = callerKeyOf(caller, req);
      const lastEventId = (res && req.headers['last-event-id']?.toString()) || undefined;
      const catchUpCost = lastEventId === undefined ? 0 : AFTER_COST;
      const controller = new AbortController();
      const { signal } = controller;
      const abort = (reason: Error): void => controller.abort(reason);
      const { release } = charge(callerKey, subject !== undefined, cost + catchUpCost, abort);
      const expiry =
        expiresAt &&
        setTimeout(
          () => abort(new Unauthenticated('The token has expired.')),
          Math.min(expiresAt - Date.now(), MAX_DELAY_MS),
        ).unref();
      const countEnd = metrics.beginStream();
      let isClosed = false;
      return {
        requestLog,
        callerKey,
        end: abort,
        signal,
        lastEventId,
        get destroyed() {
          return isClosed;
        },
        close: () => {
          if (isClosed) return;
          isClosed = true;
          release();
          clearTimeout(expiry);
          countEnd(signal.aborted ? toGatewayError(signal.reason).code : undefined);
        },
      };
    },
    endAll: () => {
      hasEnded = true;
      for (const { abort } of all) abort(new Unavailable(SHUTDOWN));
    },
  };
}
