import { isOneServer, MAX_ATTEMPTS, type Replicas } from '../database/cluster/replicas.ts';
import type { WatchedServer } from '../database/cluster/watch.ts';
import { isServerFault, NothingWritten } from '../database/database-errors.ts';
import type { DataSource } from './loaders.ts';

// All reads share this set, because almost none fail.
const NONE: ReadonlySet<WatchedServer> = new Set();

/** Reads from replicas. */
export interface Reads {
  /**
   * Runs `work` on one server: a replica that has replayed `position`, otherwise the primary. If a replica fails,
   * `work` runs again on another server, at most twice, so it must only read.
   */
  readonly read: <Result>(
    position: bigint | undefined,
    work: (source: DataSource) => Promise<Result>,
  ) => Promise<Result>;
  /** Returns a source that executes each of its statements with `read`. */
  readonly sourceAt: (position: bigint | undefined) => DataSource;
  readonly readPosition: Replicas['readPosition'];
}

/** Returns an error and its cause, if any. */
const causesOf = (error: unknown): unknown[] =>
  error instanceof Error ? [error, error.cause] : [error];

/** Creates the reads. The database of `source` is the primary. */
export function createReads(source: DataSource, replicas: Replicas): Reads {
  const sourceOf = new Map<WatchedServer, DataSource>(
    replicas.all.map((replica) => [
      replica,
      { ...source, db: { ...source.db, query: source.db.sessionOn(replica).query } },
    ]),
  );
  const read: Reads['read'] = async (at, work) => {
    let failed = NONE;
    for (let attempt = 1; ; attempt += 1) {
      const replica = await replicas.choose(at, failed);
      try {
        const result = await work((replica && sourceOf.get(replica)) ?? source);
        // A new connection may have reached a different server than the one that was checked.
        if (!replica || at === undefined || isOneServer(replica)) return result;
        failed = new Set(failed).add(replica);
      } catch (error) {
        const causes = causesOf(error);
        if (!replica || attempt === MAX_ATTEMPTS || !causes.some(isServerFault)) throw error;
        failed = new Set(failed).add(replica);
        if (causes.some((cause) => cause instanceof NothingWritten)) void replica.check();
      }
    }
  };
  const createSource = (at: bigint | undefined): DataSource => ({
    ...source,
    db: { ...source.db, query: (...args) => read(at, ({ db }) => db.query(...args)) },
  });
  // Requests without a position share one source, so they also share its batches.
  const anywhere = createSource(undefined);
  return {
    read,
    sourceAt: (at) => (at === undefined ? anywhere : createSource(at)),
    readPosition: () => replicas.readPosition(),
  };
}
