import type { Database } from './database.ts';
import type { Recipient } from './recipient.ts';

/** The database that loaders read, and a function that observes batches. */
export interface DataSource {
  readonly db: Database;
  /** Called with the size of each batch, and a name: a loader's, a batched write's, or `statement`. */
  readonly observeBatch: (loader: string, size: number) => void;
  /** The source that this one was made from, with `bindSource`; undefined for a source that all requests share. */
  readonly shared?: DataSource | undefined;
}

/**
 * Returns the source of one request, or of several that share a statement: what statements wait for is added to the
 * recipient's log.
 */
export function bindSource(source: DataSource, recipient: Recipient): DataSource {
  const { shared = source } = source;
  const { db } = shared;
  return {
    shared,
    observeBatch: shared.observeBatch,
    db: {
      ...db,
      query: (statement, effort) => db.query(statement, effort, recipient),
      write: (statement) => db.write(statement, recipient),
      transaction: (work) => db.transaction(work, recipient),
    },
  };
}
