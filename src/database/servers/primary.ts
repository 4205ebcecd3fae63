import { setImmediate as nextTurn } from 'node:timers/promises';

import { StoreError } from '../../contract/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { isReadOnlyServer } from '../errors.ts';
import { NothingWritten, OutcomeUnknown } from './outcome.ts';
import type { Position } from './position.ts';
import type { Server } from './server.ts';
import type { WatchedServer } from './watch.ts';

/** No server accepts writes. Each request gets it at once; the log has one line when the primary is lost. */
class NoPrimary extends StoreError {
  constructor() {
    super('SERVICE_UNAVAILABLE', 'The store does not accept writes at the moment.');
  }

  override get isLogged(): boolean {
    return false;
  }
}

/** The server that accepts writes, also after a failover. */
export interface Primary {
  /** Undefined while no server accepts writes. */
  readonly current: () => Server | undefined;
  /** Finds the primary again after the state of a server has changed. */
  readonly update: () => void;
  /**
   * Runs `work` on the primary. If certainly nothing was written, as the server was lost or accepts
   * reads only, it runs once more on the server that is the primary now.
   * @throws NoPrimary, OutcomeUnknown
   */
  readonly use: <Result>(work: (server: Server) => Promise<Result>) => Promise<Result>;
  /** The number of failovers to another server since the start. */
  readonly failovers: () => number;
}

const timelineOf = ({ state }: WatchedServer): number => state?.timeline ?? 0;

/** Creates the primary of a store: the one of `candidates` that accepts writes. */
export function createPrimary(candidates: readonly WatchedServer[], log: Log): Primary {
  let current: WatchedServer | undefined;
  let last: WatchedServer | undefined;
  let timeline = 0;
  let lostAt = 0;
  let failovers = 0;

  /**
   * Returns the server that accepts writes and was promoted last. A former primary that does not know of its
   * end has an earlier timeline: what it wrote would be lost.
   */
  const elect = (): WatchedServer | undefined => {
    const writable = candidates.filter(({ state }) => state?.writes);
    timeline = Math.max(timeline, ...writable.map(timelineOf));
    const latest = writable.filter((watched) => timelineOf(watched) === timeline);
    return latest.find((watched) => watched === current) ?? latest[0];
  };

  const update = (): void => {
    const found = elect();
    if (found === current) return;
    if (!found) {
      lostAt = performance.now();
      log.error(`The primary ${current?.server.name} is lost: mutations are rejected.`);
    } else if (last) {
      if (found !== last) {
        failovers += 1;
        // What still waits for the former primary would get no response before its time limit.
        last.server.abort();
      }
      const ms = current ? 0 : Math.round(performance.now() - lostAt);
      log.warn(`The primary is ${found.server.name} now, after ${ms} ms without one.`);
    }
    current = found;
    last = found ?? last;
  };

  const use = async <Result>(work: (server: Server) => Promise<Result>): Promise<Result> => {
    if (!current) throw new NoPrimary();
    try {
      return await work(current.server);
    } catch (error) {
      const canRepeat = error instanceof NothingWritten || isReadOnlyServer(error);
      if (!canRepeat && !(error instanceof OutcomeUnknown)) throw error;
      const checks = Promise.all(candidates.map(({ check }) => check()));
      if (!canRepeat) throw error;
      await checks;
      if (!current) throw new NoPrimary();
      return work(current.server);
    }
  };

  return { current: () => current?.server, update, use, failovers: () => failovers };
}

/** Creates a function that reads the position of the primary's log; calls of one turn share a statement. */
export function createReadPosition(onPrimary: Primary['use']): () => Promise<Position> {
  let next: Promise<Position> | undefined;
  const read = async (): Promise<Position> => {
    await nextTurn();
    next = undefined;
    const [row] = await onPrimary(({ run }) =>
      run<{ position: bigint }>(
        `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS "position"`,
        [],
        'once',
      ),
    );
    if (!row) throw new Error('The primary returned no position.');
    return row.position;
  };
  return () => (next ??= read());
}
