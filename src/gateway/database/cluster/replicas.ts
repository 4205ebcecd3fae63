import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';

import type { Log } from '../../telemetry/log.ts';
import { READ } from '../postgres-server.ts';
import { onlyRow } from '../session.ts';
import { Followers } from './follows.ts';
import type { Lag } from './lag.ts';
import type { Primary } from './primary.ts';
import type { WatchedServer } from './watch.ts';

// How long a read may wait for a replica to replay the caller's writes, and how often the replicas are checked
// meanwhile. All waiting reads share each check.
const MAX_WAIT_MS = 100;
const CHECK_INTERVAL_MS = 5;

/** How many times a read is attempted if servers fail. The last attempt is on the primary, if there is one. */
export const MAX_ATTEMPTS = 3;

const MAX_POSITION_MS = 1000;

// A failover can lose log that is not flushed, so the position covers only the flushed log. Without synchronous_commit,
// it covers the whole log, because the caller's own write might not be flushed yet.
const POSITION_SQL = `SELECT pg_wal_lsn_diff(
  CASE current_setting('synchronous_commit')
    WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END,
  '0/0')::bigint AS "position"`;

const usageOf = (server: WatchedServer): number => {
  const { total, idle, waiting } = server.poolUse();
  return total - idle + waiting;
};

/**
 * Returns the least used replica, or a random replica if all are equally used. So only a few requests wait for a
 * replica that has stopped responding, until a check notices.
 */
function leastUsed(replicas: readonly WatchedServer[]): WatchedServer | undefined {
  const start = Math.floor(Math.random() * replicas.length);
  let least = replicas[start];
  for (const replica of replicas) {
    if (least && usageOf(replica) < usageOf(least)) least = replica;
  }
  return least;
}

/**
 * Whether all connections lead to the server that was checked. Behind a load balancer, a read may reach a different
 * replica than the check did, and the position of that replica is unknown.
 */
export const isOneServer = ({ identities, state }: WatchedServer): boolean =>
  [...identities].every((identity) => identity === state?.identity);

/** Chooses replicas for reads. */
export class Replicas {
  readonly all: readonly WatchedServer[];
  readonly #primary: Primary;
  readonly #lag: Lag;
  readonly #maxLagMs: number;
  readonly #log: Log;
  readonly #followers = new Followers();
  readonly #usable = new Set<WatchedServer>();
  #checking: Promise<void> | undefined;
  #position: Promise<bigint> | undefined;

  constructor(
    all: readonly WatchedServer[],
    primary: Primary,
    { lag, maxLagMs, log }: { lag: Lag; maxLagMs: number; log: Log },
  ) {
    this.all = all;
    this.#primary = primary;
    this.#lag = lag;
    this.#maxLagMs = maxLagMs;
    this.#log = log;
  }

  /**
   * Returns the least used replica that responds, is at most REPLICA_MAX_LAG_MS behind, is not in `failed`, and reaches
   * `position` within 100 ms. Returns undefined if there is none, or if the last attempt is due and there is a primary.
   * If there is no primary and no other replica, those in `failed` are allowed, because they may have recovered.
   */
  async choose(
    position: bigint | undefined,
    failed: ReadonlySet<WatchedServer>,
  ): Promise<WatchedServer | undefined> {
    const hasPrimary = this.#primary.current !== undefined;
    if (hasPrimary && failed.size === MAX_ATTEMPTS - 1) return undefined;
    const others = [...this.#usable].filter((replica) => !failed.has(replica));
    const replicas = others.length > 0 || hasPrimary ? others : [...this.#usable];
    return position === undefined
      ? leastUsed(replicas)
      : this.#chooseAt(position, replicas.filter(isOneServer));
  }

  /**
   * Returns a log position that includes everything that the primary has committed so far; calls in the same tick share
   * a statement. Rejects if there is no response within a second.
   */
  readPosition(): Promise<bigint> {
    this.#position ??= this.#readPositionNextTick();
    return this.#position;
  }

  /** Updates which replicas may serve reads. Called after each check of a server. */
  update(): void {
    for (const replica of this.all) {
      const { name } = replica;
      const obstacle = this.#obstacleTo(replica);
      if (!obstacle && !this.#usable.has(replica)) {
        this.#usable.add(replica);
        this.#log.info(`Replica ${name} now serves reads.`);
      } else if (obstacle && this.#usable.delete(replica)) {
        this.#log.warn(`Replica ${name} no longer serves reads: ${obstacle}.`);
      }
    }
  }

  /** Returns why a replica can't serve reads; undefined if it can. */
  #obstacleTo(replica: WatchedServer): string | undefined {
    const { state } = replica;
    const { current, timeline } = this.#primary;
    if (!state) return 'it does not respond';
    if (!state.isReplica) return 'it is not a replica';
    if (!this.#followers.has(replica, current?.state, timeline)) {
      return 'it is not known to follow the primary';
    }
    return this.#lag.of(state.position) > this.#maxLagMs ? 'it is too far behind' : undefined;
  }

  async #chooseAt(
    position: bigint,
    replicas: readonly WatchedServer[],
  ): Promise<WatchedServer | undefined> {
    const end = performance.now() + MAX_WAIT_MS;
    for (;;) {
      const reached = replicas.filter(({ state }) => state && state.position >= position);
      if (reached.length > 0 || replicas.length === 0) return leastUsed(reached);
      if (performance.now() >= end) return undefined;
      this.#checking ??= this.#checkSoon();
      await this.#checking;
    }
  }

  /** Waits 5 ms, and checks the usable replicas. Resolves after the first response, or after another 5 ms. */
  async #checkSoon(): Promise<void> {
    await sleep(CHECK_INTERVAL_MS);
    const checks = [...this.#usable].map((replica) => replica.check());
    await Promise.race([...checks, sleep(CHECK_INTERVAL_MS)]);
    this.#checking = undefined;
  }

  async #readPositionNextTick(): Promise<bigint> {
    await nextTick();
    this.#position = undefined;
    const rows = await Promise.race([
      this.#primary.run<{ position: bigint }>(POSITION_SQL, [], READ),
      sleep(MAX_POSITION_MS, undefined, { ref: false }),
    ]);
    if (!rows) throw new Error('The primary did not respond in time.');
    return onlyRow(rows).position;
  }
}
