import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Caller, Identify } from './auth/tokens.ts';
import type { Database } from './database/database.ts';
import type { Loaders } from './store/loaders.ts';
import type { RequestRecord } from './telemetry/request-log.ts';

/** A request and its answer. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly record: RequestRecord;
}

/** What a route may use. */
export interface Context {
  readonly db: Database;
  readonly loaders: Loaders;
  readonly identify: Identify;
}

/** What a resolver may use. */
export interface CallContext extends Context {
  readonly caller: Caller;
}
