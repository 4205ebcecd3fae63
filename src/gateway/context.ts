import type { IncomingMessage, ServerResponse } from 'node:http';

import type { LimitFunction } from 'p-limit';

import type { Authenticate, Caller } from './auth/caller.ts';
import type { ChangeFeed } from './changes/feed.ts';
import type { Recipient } from './database/recipient.ts';
import type { DataSource } from './tables/loaders.ts';
import type { SourceFor } from './tables/source-for.ts';
import type { RequestLog } from './telemetry/request-log.ts';

export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly requestLog: RequestLog;
  /** Receives the operation's result: the response, or the client of a WebSocket. */
  readonly recipient: Recipient;
}

/** The parts of the gateway that routes can use. */
export interface Context {
  readonly source: DataSource;
  /** Chooses the source for each read; undefined if all reads use `source`. */
  readonly sourceFor?: SourceFor | undefined;
  readonly changes: ChangeFeed;
  readonly authenticate: Authenticate;
}

/** The context of resolvers. */
export interface CallContext extends Pick<Context, 'changes'>, Pick<Exchange, 'recipient'> {
  /** What loaders read; graphql/execution/choose-source.ts may replace it. */
  source: DataSource;
  /** Limits how many statements for lists the operation runs at the same time; created by its first list. */
  limit: LimitFunction | undefined;
  readonly caller: Caller;
  /** The performance.now() at which the request had been read and its token verified. */
  readonly arrivedAt: number;
  /** The stream of a subscription; undefined in other operations. */
  readonly stream?: {
    /** Identifies the caller that opened the stream. */
    readonly callerKey: string;
    /** Closes the stream when aborted; the abort reason becomes the stream's error. */
    readonly signal: AbortSignal;
    /** The cursor after which a browser's EventSource resumes. It replaces the argument `after`. */
    readonly lastEventId?: string | undefined;
  };
}
