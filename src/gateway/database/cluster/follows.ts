import type { ServerState, WatchedServer } from './watch.ts';

/** What was seen of a replica since it started, or since the last promotion. */
interface Seen {
  readonly identity: string;
  readonly timeline: number;
  readonly position: bigint;
  readonly follows: boolean;
}

/**
 * Returns whether a replica of an unknown timeline follows the primary: it is where the primary is, or it has
 * moved, and is no further than the primary was later. A replica that is further has left the primary's log.
 * Undefined if that can't be said yet.
 */
function judge(state: ServerState, primary: ServerState, seen: Seen | undefined) {
  if (state.position === primary.position) return true;
  if (state.knownAt > primary.askedAt) return undefined;
  if (state.position > primary.position) return false;
  return seen && state.position > seen.position ? true : undefined;
}

/**
 * Creates a function that tells whether a replica is known to follow the primary. After a promotion, a replica
 * may have a part of the log that the new primary does not have, and answer with rows that were lost. A replica
 * reports the timeline that it receives only to a role that may know it (pg_read_all_stats), and only while it
 * receives: then positions have to tell.
 */
export function createFollows(
  readPrimary: () => WatchedServer | undefined,
  readTimeline: () => number,
): (replica: WatchedServer) => boolean {
  const lastSeen = new WeakMap<WatchedServer, Seen>();
  return (replica) => {
    const { state } = replica;
    if (!state) return false;
    const { identity, position } = state;
    const timeline = readTimeline();
    const last = lastSeen.get(replica);
    const seen = last?.identity === identity && last.timeline === timeline ? last : undefined;
    const primary = readPrimary()?.state;
    const judged =
      state.timeline === null
        ? primary && judge(state, primary, seen)
        : state.timeline === timeline;
    const follows = judged ?? seen?.follows ?? false;
    lastSeen.set(replica, { identity, timeline, position, follows });
    return follows;
  };
}
