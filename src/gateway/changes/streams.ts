import type { IncomingMessage, ServerResponse } from 'node:http';

import { type Caller, callerKeyOf } from '../auth/caller.ts';
import type { Config, Limits } from '../config/config.ts';
import { GatewayError, Unauthenticated, Unavailable } from '../contract/gateway-error.ts';
import { toGatewayError } from '../database/database-errors.ts';
import { findMost } from '../database/fair-queue.ts';
import type { Recipient } from '../database/recipient.ts';
import type { ChangeMetrics } from '../telemetry/change-metrics.ts';
import type { RequestLog } from '../telemetry/request-log.ts';
import { type Change, type Position, START } from './change-log.ts';

/** The cost of a page of old changes, which a subscription with a cursor reads first. */
export const AFTER_COST = 200;
/** The maximum cost of one subscription result. Most apps need at most 300. */
export const MAX_RESULT_COST = 5000;
// The cost per result that is available to each stream if a caller, or the process, has its maximum number of streams.
const COST_OF_STREAM = 500;
// The maximum delay of a timer. Even if a token is valid for longer, its streams end after 24 days.
const MAX_DELAY_MS = 2 ** 31 - 1;
const DISPLACED =
  'The gateway has too many subscriptions. Resubscribe later with your last cursor.';
const SHUTDOWN = 'The gateway is shutting down. Resubscribe with your last cursor.';

/** The request of a subscription. It has no `res` on a WebSocket. */
export interface StreamRequest {
  readonly req: IncomingMessage;
  readonly res: ServerResponse | undefined;
  readonly caller: Caller;
  readonly requestLog: RequestLog;
}

/**
 * An open subscription. The gateway ends it with an error; it is closed once its client has received that error or needs
 * no more results.
 */
export class Stream implements Recipient {
  readonly requestLog: RequestLog;
  /** Identifies the caller that opened it. */
  readonly callerKey: string;
  /** The cursor after which a browser's EventSource resumes. It replaces the argument `after`. */
  readonly lastEventId: string | undefined;
  /** The maximum cost of a result, and of the page of old changes that it starts with. */
  readonly cost: number;
  /** All changes up to this position were offered to the client or did not match. */
  position: Position = START;
  /** With every tenth change that it is offered, up to nine that it is offered next; none with the others. */
  upcoming: readonly Change[] = [];
  /** When the client was offered a change that it has not taken yet, in milliseconds of performance.now(). */
  offeredAt: number | undefined;
  /** The error with which the gateway has ended it. */
  error: Error | undefined;
  onClose = (): void => {};
  destroyed = false;
  #wake = (): void => {};

  constructor({ req, res, caller, requestLog }: StreamRequest, cost: number) {
    this.requestLog = requestLog;
    this.callerKey = callerKeyOf(caller, req);
    this.lastEventId = (res && req.headers['last-event-id']?.toString()) || undefined;
    this.cost = this.lastEventId === undefined ? cost : cost + AFTER_COST;
  }

  /** Whether it follows no more changes. */
  get isEnded(): boolean {
    return this.destroyed || this.error !== undefined;
  }

  /** Ends it with an error, which is its last result. */
  end(error: Error): void {
    this.error ??= error;
    this.#wake();
  }

  close(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.#wake();
    this.onClose();
  }

  /** Waits for some work; resolves with undefined if the stream ends before. */
  waitFor<Result>(work: Promise<Result>): Promise<Result | undefined> {
    return new Promise((resolve, reject) => {
      this.#wake = () => resolve(undefined);
      work.then(resolve, reject);
    });
  }
}

/** Returns the budget for a number of streams. It always admits one stream, whatever its results cost. */
const budgetFor = (streams: number): number => Math.max(MAX_RESULT_COST, streams * COST_OF_STREAM);

const tooCostly = (cost: number, budget: number): GatewayError =>
  new GatewayError(
    'TOO_MANY_STREAMS',
    `Your subscriptions would cost ${cost} per change in total; the limit is ${budget}. ` +
      'Close some of them, or select fewer fields.',
  );

const costOf = (streams: ReadonlySet<Stream>): number =>
  Array.from(streams, ({ cost }) => cost).reduce((sum, cost) => sum + cost, 0);

/** The open streams of a process. Each is charged to its caller and to the process. */
export class Streams {
  readonly #limits: Limits;
  readonly #metrics: ChangeMetrics;
  readonly #open = new Set<Stream>();
  /** The open streams of each caller, the newest last. */
  readonly #openOf = new Map<string, Set<Stream>>();
  #hasEnded = false;

  constructor({ limits }: Config, metrics: ChangeMetrics) {
    this.#limits = limits;
    this.#metrics = metrics;
  }

  /**
   * Opens a stream whose results cost at most `cost` each. It ends at the latest when its caller's token expires. If the
   * process has no room left, the newest stream of the caller with the most ends, unless this stream's caller would then
   * have the most.
   * @throws GatewayError with TOO_MANY_STREAMS or SERVICE_UNAVAILABLE
   */
  open(request: StreamRequest, cost: number): Stream {
    if (this.#hasEnded) throw new Unavailable(SHUTDOWN);
    const { subject, expiresAt } = request.caller;
    const stream = new Stream(request, cost);
    this.#add(stream, subject !== undefined);
    const expiry =
      expiresAt &&
      setTimeout(
        () => stream.end(new Unauthenticated('The token has expired.')),
        Math.min(expiresAt - Date.now(), MAX_DELAY_MS),
      ).unref();
    const countEnd = this.#metrics.beginStream();
    stream.onClose = () => {
      this.#remove(stream);
      clearTimeout(expiry);
      countEnd(stream.error && toGatewayError(stream.error).code);
    };
    return stream;
  }

  /** Ends all streams and rejects new ones. */
  endAll(): void {
    this.#hasEnded = true;
    for (const stream of this.#open) stream.end(new Unavailable(SHUTDOWN));
  }

  #add(stream: Stream, hasSubject: boolean): void {
    const { maxStreams, maxStreamsPerCaller } = this.#limits;
    const { callerKey, cost } = stream;
    const own = this.#openOf.get(callerKey) ?? new Set();
    const count = own.size + 1;
    if (hasSubject && count > maxStreamsPerCaller) throw new GatewayError('TOO_MANY_STREAMS');
    // Behind a proxy, all callers without a token share one address, so an address gets half of the process's budget.
    const ownBudget = budgetFor(hasSubject ? maxStreamsPerCaller : maxStreams / 2);
    const ownCost = costOf(own) + cost;
    if (ownCost > ownBudget) throw tooCostly(ownCost, ownBudget);
    while (this.#open.size >= maxStreams) this.#makeRoom(({ size }) => size, count);
    while (costOf(this.#open) + cost > budgetFor(maxStreams)) this.#makeRoom(costOf, ownCost);
    this.#openOf.set(callerKey, own.add(stream));
    this.#open.add(stream);
  }

  #makeRoom(measure: (streams: ReadonlySet<Stream>) => number, least: number): void {
    const most = findMost(this.#openOf.values(), measure, least);
    const newest = most && [...most].at(-1);
    if (!newest) throw new Unavailable('The gateway has too many subscriptions.');
    this.#remove(newest);
    newest.end(new Unavailable(DISPLACED));
  }

  #remove(stream: Stream): void {
    this.#open.delete(stream);
    const own = this.#openOf.get(stream.callerKey);
    own?.delete(stream);
    if (own?.size === 0) this.#openOf.delete(stream.callerKey);
  }
}
