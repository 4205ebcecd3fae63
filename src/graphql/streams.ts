import { setTimeout as sleep } from 'node:timers/promises';

import type { Config } from '../config/config.ts';
import type { CallContext, Exchange } from '../context.ts';
import { StoreError, Unauthenticated } from '../contract/errors.ts';
import type { StreamMetrics } from '../telemetry/stream-metrics.ts';

// The longest delay of a timer.
const MAX_DELAY_MS = 2 ** 31 - 1;
const STOPS =
  'This gateway stops. Subscribe again after the last cursor: another one will respond.';

/** The error of streams that the gateway can't serve. It is no fault, so it is not logged. */
class StreamUnavailable extends StoreError {
  constructor(message: string) {
    super('SERVICE_UNAVAILABLE', message);
  }

  override get isLogged(): boolean {
    return false;
  }
}

/** The results of one subscription. */
interface Stream {
  /** Ends it, with the error as its reason. */
  readonly signal: AbortSignal;
  /** To be called once, when it has ended. */
  readonly close: () => void;
}

/** All open streams of a process. */
export interface Streams {
  /** @throws StoreError with TOO_MANY_STREAMS or SERVICE_UNAVAILABLE */
  readonly open: (context: CallContext & Exchange) => Stream;
  /** Ends all streams, and rejects new ones. */
  readonly endAll: () => void;
}

/** Ends a stream when a token expires, unless `signal` is aborted before. */
async function endAtExpiry(
  controller: AbortController,
  expiresAt: number,
  signal: AbortSignal,
): Promise<void> {
  try {
    for (let ms = expiresAt - Date.now(); ms > 0; ms = expiresAt - Date.now()) {
      await sleep(Math.min(ms, MAX_DELAY_MS), undefined, { signal, ref: false });
    }
    controller.abort(new Unauthenticated('The token has expired.'));
  } catch {
    // The stream has ended.
  }
}

/** Creates the streams of a process. A stream ends at the latest when the token of its caller expires. */
export function createStreams(
  { limits: { maxStreams, maxStreamsPerCaller } }: Config,
  metrics: StreamMetrics,
): Streams {
  const controllers = new Set<AbortController>();
  const countOf = new Map<string, number>();
  let hasEnded = false;

  const requireRoom = (subject: string | undefined): void => {
    if (hasEnded) throw new StreamUnavailable(STOPS);
    if (controllers.size >= maxStreams) {
      throw new StreamUnavailable('The gateway has too many subscriptions.');
    }
    if (subject !== undefined && (countOf.get(subject) ?? 0) >= maxStreamsPerCaller) {
      throw new StoreError('TOO_MANY_STREAMS');
    }
  };
  const count = (subject: string | undefined, change: 1 | -1): void => {
    if (subject === undefined) return;
    const total = (countOf.get(subject) ?? 0) + change;
    if (total > 0) countOf.set(subject, total);
    else countOf.delete(subject);
  };
  return {
    open: ({ caller: { subject, expiresAt }, requestLog }) => {
      requireRoom(subject);
      const controller = new AbortController();
      const closing = new AbortController();
      if (expiresAt !== undefined) void endAtExpiry(controller, expiresAt, closing.signal);
      requestLog.isStream = true;
      controllers.add(controller);
      count(subject, 1);
      const end = metrics.beginStream();
      return {
        signal: controller.signal,
        close: () => {
          if (!controllers.delete(controller)) return;
          count(subject, -1);
          closing.abort();
          end(requestLog);
        },
      };
    },
    endAll: () => {
      hasEnded = true;
      for (const controller of controllers) controller.abort(new StreamUnavailable(STOPS));
    },
  };
}
