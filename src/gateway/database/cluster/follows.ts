import type { ServerState, WatchedServer } from './watch.ts';

/** Whether a replica has only what the primary has written, or more, which was lost in a failover. */
type Verdict = 'follows' | 'left' | 'unknown';

/** What was last seen of a replica. */
interface Seen {
  readonly identity: string;
  readonly timeline: number;
  readonly position: bigint;
  readonly verdict: Verdict;
}

/** Compares the position of a replica with that of the primary; `last` is what was seen of it before. */
function compare(replica: ServerState, primary: ServerState, last: Seen | undefined): Verdict {
  if (replica.position === primary.position) return 'follows';
  // The primary may have written more after it was asked.
  if (replica.knownAt > primary.askedAt) return 'unknown';
  if (replica.position > primary.position) return 'left';
  return last && replica.position > last.position ? 'follows' : 'unknown';
}

/**
 * Tells which replicas follow the primary. After a promotion, a replica may have a part of the log that the new
 * primary does not have, and respond with rows that were lost.
 *
 *   the replica reports                      it follows the primary
 *   --------------------------------------   ----------------------------------------------------
 *   the timeline that it receives            if that is the primary's
 *   no timeline, and there is a primary
 *     at the position of the primary         yes
 *     beyond where the primary was later     no
 *     behind it, and moved since last time   yes
 *   anything else                            as it did last time; at first no
 *
 * A replica reports its timeline only to a role that may know it (pg_read_all_stats), and only while it receives.
 * What was seen before it started again, or before a promotion, does not count.
 */
export class Followers {
  readonly #lastSeen = new WeakMap<WatchedServer, Seen>();

  /** Whether a replica is known to follow the primary, whose last timeline is `timeline`. */
  has(replica: WatchedServer, primary: ServerState | undefined, timeline: number): boolean {
    const { state } = replica;
    if (!state) return false;
    const { identity, position } = state;
    const seen = this.#lastSeen.get(replica);
    const last = seen?.identity === identity && seen.timeline === timeline ? seen : undefined;
    let verdict: Verdict = 'unknown';
    if (state.timeline !== null) verdict = state.timeline === timeline ? 'follows' : 'left';
    else if (primary) verdict = compare(state, primary, last);
    if (verdict === 'unknown' && last) ({ verdict } = last);
    this.#lastSeen.set(replica, { identity, timeline, position, verdict });
    return verdict === 'follows';
  }
}
