import { setTimeout as sleep } from 'node:timers/promises';

import type { Log } from '../../telemetry/log.ts';
import type { Session } from '../session.ts';
import { createFollows } from './follows.ts';
import type { Lag } from './lag.ts';
import type { WatchedServer } from './watch.ts';

// How long a read may wait for a replica that has replayed what the caller has written, and how often the
// replicas are asked meanwhile, for all such reads together.
const MAX_WAIT_MS = 100;
const CHECK_INTERVAL_MS = 5;

/** How often a read runs if its servers fail. The last time is on the primary. */
export const MAX_ATTEMPTS = 3;

/** A replica that can answer queries. */
export interface Replica {
  readonly watched: WatchedServer;
  readonly query: Session['query'];
}

/** Chooses replicas for reads. */
export interface Replicas {
  readonly all: readonly Replica[];
  /** Returns the position of the primary's log after all that it has written until now. */
  readonly readPosition: () => Promise<bigint>;
  /**
   * Returns the replica that is used least of those that respond, are not behind for longer than
   * REPLICA_MAX_LAG_MS, are not among `failed`, and have replayed `position` within 100 ms. Without a primary, it
   * may be one of those that failed, as it may have been restored.
   */
  readonly choose: (
    position: bigint | undefined,
    failed: ReadonlySet<Replica>,
  ) => Promise<Replica | undefined>;
}

const usageOf = ({ watched }: Replica): number => {
  const { total, idle, waiting } = watched.server.poolUse();
  return total - idle + waiting;
};

/** Returns the replica that is used least; of equal ones, a random one. */
function leastUsed(replicas: readonly Replica[]): Replica | undefined {
  const start = Math.floor(Math.random() * replicas.length);
  let least = replicas[start];
  for (const replica of replicas) {
    if (least && usageOf(replica) < usageOf(least)) least = replica;
  }
  return least;
}

/**
 * Whether all connections lead to the server that was checked. Behind a balancer, a read may reach another
 * replica than the check: then its position says nothing.
 */
export const isOneServer = ({ watched: { server, state } }: Replica): boolean =>
  [...server.identities()].every((identity) => identity === state?.identity);

/** What a replica is compared with. */
interface ReplicasOptions {
  readonly lag: Lag;
  readonly maxLagMs: number;
  readonly log: Log;
  /** Returns the server of the primary and its state, if there is one. */
  readonly readPrimary: () => WatchedServer | undefined;
  /** Returns the last timeline of the primary. */
  readonly readTimeline: () => number;
  readonly readPosition: Replicas['readPosition'];
}

/** Creates a function that returns why a replica is not read; undefined if it is. */
function createObstacleTo({
  lag,
  maxLagMs,
  readPrimary,
  readTimeline,
}: ReplicasOptions): (replica: Replica) => string | undefined {
  const follows = createFollows(readPrimary, readTimeline);
  return (replica) => {
    const { state } = replica.watched;
    if (!state) return 'it does not respond';
    if (!state.isReplica) return 'it is not a replica';
    if (!follows(replica.watched)) return 'it is not known to follow the primary';
    return lag.of(state.position) > maxLagMs ? 'it is too far behind' : undefined;
  };
}

/** Creates a function that checks replicas after some milliseconds, and waits for the first; calls share it. */
function createCheckSoon(replicas: ReadonlySet<Replica>): () => Promise<void> {
  let checking: Promise<void> | undefined;
  const check = async (): Promise<void> => {
    await sleep(CHECK_INTERVAL_MS);
    const checks = [...replicas].map(({ watched }) => watched.check());
    await Promise.race([...checks, sleep(CHECK_INTERVAL_MS)]);
    checking = undefined;
  };
  return () => (checking ??= check());
}

/** Creates the choice between replicas; `update` must be called after the state of a server was set. */
export function createReplicas(
  all: readonly Replica[],
  options: ReplicasOptions,
): Replicas & { readonly update: () => void } {
  const hasPrimary = (): boolean => options.readPrimary() !== undefined;
  const usable = new Set<Replica>();
  const obstacleTo = createObstacleTo(options);
  const update = (): void => {
    for (const replica of all) {
      const { name } = replica.watched.server;
      const obstacle = obstacleTo(replica);
      if (!obstacle && !usable.has(replica)) {
        usable.add(replica);
        options.log.info(`Reads use the replica ${name}.`);
      } else if (obstacle && usable.delete(replica)) {
        options.log.warn(`Reads do not use the replica ${name}: ${obstacle}.`);
      }
    }
  };

  const checkSoon = createCheckSoon(usable);
  const chooseAt = async (
    position: bigint,
    replicas: readonly Replica[],
  ): Promise<Replica | undefined> => {
    const end = performance.now() + MAX_WAIT_MS;
    for (;;) {
      const reached = replicas.filter(
        ({ watched: { state } }) => state && state.position >= position,
      );
      if (reached.length > 0 || replicas.length === 0) return leastUsed(reached);
      if (performance.now() >= end) return undefined;
      await checkSoon();
    }
  };

  const choose: Replicas['choose'] = async (position, failed) => {
    if (hasPrimary() && failed.size === MAX_ATTEMPTS - 1) return undefined;
    const others = [...usable].filter((replica) => !failed.has(replica));
    const replicas = others.length > 0 || hasPrimary() ? others : [...usable];
    return position === undefined
      ? leastUsed(replicas)
      : chooseAt(position, replicas.filter(isOneServer));
  };

  const { readPosition } = options;
  return { all, readPosition, choose, update };
}
