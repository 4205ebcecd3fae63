import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Caller, Identify } from './access.ts';
import type { Database } from './database/database.ts';
import type { Loaders } from './loaders.ts';
import type { RequestRecord } from './request-record.ts';

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
