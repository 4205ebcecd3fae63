import { callerKeyOf } from '../auth/caller.ts';
import type { Config } from '../config/config.ts';
import type { CallContext, Exchange } from '../context.ts';
import { Unauthenticated, Unavailable } from '../contract/gateway-error.ts';
import type { Recipient } from '../database/recipient.ts';
import { AFTER_COST } from '../schema/change-types.ts';
import type { StreamMetrics } from '../telemetry/stream-metrics.ts';
import { createStreamBudget } from './stream-budget.ts';

// The maximum delay of a timer. Even if a token is valid for longer, its streams end after 24 days.
const MAX_DELAY_MS = 2 ** 31 - 1;
const DISPLACED =
  'The gateway has too many subscriptions. Resubscribe later with your last cursor.';
const SHUTDOWN = 'The gateway is shutting down. Resubscribe with your last cursor.';

/** The results of one subscription. `destroyed` is true once it has ended. */
export interface Stream extends Recipient, NonNullable<CallContext['stream']> {
  /** Must be called when the stream has ended. */
  readonly close: () => void;
}

/** All open streams of the process. */
export interface Streams {
  /**
   * Opens a stream whose results cost at most `cost` each.
   * @throws GatewayError with TOO_MANY_STREAMS or SERVICE_UNAVAILABLE
   */
  readonly open: (context: CallContext & Exchange, cost: number) => Stream;
  /** Ends all streams and rejects new ones. */
  readonly endAll: () => void;
}

/** Opens and ends the streams of the process. A stream ends at the latest when its caller's token expires. */
export function createStreams({ limits }: Config, metrics: StreamMetrics): Streams {
  const controllers = new Set<AbortController>();
  const charge = createStreamBudget(limits);
  let hasEnded = false;
  return {
    open: ({ caller, req, res, recipient, requestLog }, cost) => {
      if (hasEnded) throw new Unavailable(SHUTDOWN);
      const callerKey = callerKeyOf(caller, req);
      // All operations on a WebSocket share the headers of its handshake.
      const lastEventId =
        recipient === res ? req.headers['last-event-id']?.toString() || undefined : undefined;
      const catchUpCost = lastEventId === undefined ? 0 : AFTER_COST;
      const controller = new AbortController();
      const release = charge(caller, callerKey, cost + catchUpCost, () =>
        controller.abort(new Unavailable(DISPLACED)),
      );
      const { expiresAt } = caller;
      const endAtExpiry = (): void =>
        controller.abort(new Unauthenticated('The token has expired.'));
      const expiry =
        expiresAt &&
        setTimeout(endAtExpiry, Math.min(expiresAt - Date.now(), MAX_DELAY_MS)).unref();
      requestLog.isStream = true;
      controllers.add(controller);
      const end = metrics.beginStream();
      return {
        callerKey,
        signal: controller.signal,
        lastEventId,
        get destroyed() {
          return !controllers.has(controller);
        },
        close: () => {
          if (!controllers.delete(controller)) return;
          release();
          clearTimeout(expiry);
          end(requestLog);
        },
      };
    },
    endAll: () => {
      hasEnded = true;
      for (const controller of controllers) controller.abort(new Unavailable(SHUTDOWN));
    },
  };
}
