import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Authenticate, Caller } from './auth/caller.ts';
import type { ChangeFeed } from './changes/feed.ts';
import type { Recipient } from './database/recipient.ts';
import type { DataSource } from './tables/loaders.ts';
import type { Reads } from './tables/reads.ts';
import type { RequestLog } from './telemetry/request-log.ts';

/** A request, its response, its log and the recipient of its result. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly requestLog: RequestLog;
  /** Who receives the result of its operation: the response, or a client of a WebSocket. */
  readonly recipient: Recipient;
}

/** What a route can use. */
export interface Context {
  readonly source: DataSource;
  /** Reads from replicas, if there are any. */
  readonly reads?: Reads;
  readonly changes: ChangeFeed;
  readonly authenticate: Authenticate;
}

/** What a resolver can use. */
export interface CallContext extends Pick<Context, 'changes'>, Pick<Exchange, 'recipient'> {
  /** The database from which it reads: see graphql/execution/read-from-replicas.ts. */
  source: DataSource;
  readonly caller: Caller;
  /** When its body was read and its token verified, in the milliseconds of performance.now(). */
  readonly arrivedAt: number;
  /** The stream of a subscription. */
  readonly stream?: {
    /** Whose stream it is. */
    readonly callerKey: string;
    /** Ends it, with the error as its reason. */
    readonly signal: AbortSignal;
  };
}
