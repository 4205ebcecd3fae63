import type { Authenticate, Caller } from './auth/caller.ts';
import type { ChangeFeed } from './changes/feed.ts';
import type { Stream } from './changes/streams.ts';
import type { Recipient } from './database/recipient.ts';
import type { DataSource } from './model/loaders.ts';
import type { RequestLog } from './telemetry/request-log.ts';

/** The parts of the gateway that routes can use. */
export interface Context {
  readonly source: DataSource;
  /** A source that may find older rows, such as those of a replica; undefined if all reads use `source`. */
  readonly olderSource?: DataSource | undefined;
  readonly changes: ChangeFeed;
  readonly authenticate: Authenticate;
}

/** The context of resolvers. Callers share the results of subscriptions, so nothing in it tells who the caller is. */
export interface CallContext extends Pick<Context, 'source' | 'changes'> {
  /** Receives the operation's result: the response, the client of a WebSocket, or the streams that share it. */
  readonly recipient: Recipient;
}

/** The context of a mutation's own resolver. */
export interface MutationContext extends CallContext {
  readonly caller: Caller;
}

/** What differs by caller. Only the gateway reads it, for mutations and for the start of subscriptions. */
export interface Origin {
  readonly request?: Pick<MutationContext, 'caller'> & {
    readonly requestLog: RequestLog;
    /** The key outside of the document, for the only mutation. */
    readonly idempotencyKey: string | undefined;
  };
  readonly stream?: Stream;
}

const hasOrigin = (context: object): context is { readonly origin: Origin } => 'origin' in context;

/** Returns the request of a mutation, or the stream of a subscription that starts, given the context of its execution. */
export function originOf<Part extends keyof Origin>(
  context: object,
  part: Part,
): NonNullable<Origin[Part]> {
  const found = hasOrigin(context) ? context.origin[part] : undefined;
  if (!found) throw new Error(`The context has no ${part}.`);
  return found;
}
