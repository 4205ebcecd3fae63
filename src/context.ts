import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Caller } from './auth/scopes.ts';
import type { Authenticate } from './auth/tokens.ts';
import type { Store } from './database/loaders.ts';
import type { RequestLog } from './telemetry/request-log.ts';

/** A request and its answer. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly requestLog: RequestLog;
}

/** What a route may use. */
export interface Context {
  readonly store: Store;
  readonly authenticate: Authenticate;
}

/** What a resolver may use. */
export interface CallContext extends Context {
  readonly caller: Caller;
}
