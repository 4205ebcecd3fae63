import type { Database } from './database/database.ts';
import type { Loaders } from './loaders.ts';

/** What a resolver or a route may use. */
export interface Context {
  readonly db: Database;
  readonly loaders: Loaders;
}
