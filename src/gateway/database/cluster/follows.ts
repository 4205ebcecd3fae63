import type { ServerState, WatchedServer } from './watch.ts';

/**
 * Whether the primary's log contains everything that a replica has replayed; `left` if a failover may have lost part of
 * that.
 */
type Verdict = 'follows' | 'left' | 'unknown';

/** The result of the last check of a replica. */
interface Seen {
  readonly identity: string;
  readonly timeline: number;
  readonly position: bigint;
  readonly verdict: Verdict;
}

/** Compares a replica's position with the primary's; `last` is the result of the previous check. */
function compare(replica: ServerState, primary: ServerState, last: Seen | undefined): Verdict {
  if (replica.position === primary.position) return 'follows';
  // The primary may have written more log since it was checked.
  if (replica.knownAt > primary.askedAt) return 'unknown';
  if (replica.position > primary.position) return 'left';
  return last && replica.position > last.position ? 'follows' : 'unknown';
}

/**
 * Decides which replicas follow the primary. After a failover, a replica may have replayed log that the new primary
 * does not have, and return rows that no longer exist.
 *
 *   the replica reports                      it follows the primary
 *   --------------------------------------   ----------------------------------------------------
 *   the timeline that it receives            if it is the primary's timeline
 *   no timeline, and there is a primary
 *     at the primary's position              yes
 *     ahead of a primary checked after it    no
 *     behind such a primary, but advancing   yes
 *   anything else                            unchanged; initially no
 *
 * A replica reports its timeline only to roles with pg_read_all_stats, and only while it is receiving WAL.
 * Observations from before a restart or a promotion do not count.
 */
export class Followers {
  readonly #lastSeen = new WeakMap<WatchedServer, Seen>();

  /** Whether a replica is known to follow the primary; `timeline` is the primary's latest. */
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
