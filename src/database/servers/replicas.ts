import { setTimeout as sleep } from 'node:timers/promises';

import type { Log } from '../../telemetry/log.ts';
import type { Session } from '../session.ts';
import type { Lag } from './lag.ts';
import type { Position } from './position.ts';
import type { WatchedServer } from './watch.ts';

// How long a read may wait for a replica that has replayed what the caller has written, and how often the
// replicas are asked meanwhile, for all such reads together.
const MAX_WAIT_MS = 100;
const CHECK_INTERVAL_MS = 5;

/** A replica that can answer queries. */
export interface Replica {
  readonly watched: WatchedServer;
  readonly query: Session['query'];
}

/** Chooses replicas for reads. */
export interface Replicas {
  readonly all: readonly Replica[];
  readonly hasPrimary: () => boolean;
  /** Returns the position of the primary's log after all that it has written until now. */
  readonly readPosition: () => Promise<Position>;
  /**
   * Whether all connections lead to the server that was checked. Behind a balancer, a read may reach another
   * replica than the check: then its position says nothing.
   */
  readonly isOneServer: (replica: Replica) => boolean;
  /**
   * Returns the replica that is used least of those that respond, are not behind for longer than
   * REPLICA_MAX_LAG_MS, and are not among `failed`; undefined if there is none.
   */
  readonly choose: (failed?: ReadonlySet<Replica>) => Replica | undefined;
  /** Returns a replica that has replayed a position; undefined if there is none within 100 ms. */
  readonly chooseAt: (
    position: Position,
    failed?: ReadonlySet<Replica>,
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

const isOneServer = ({ watched: { server, state } }: Replica): boolean =>
  [...server.addresses].every((address) => address === state?.address);

/** What a replica is compared with. */
interface ReplicasOptions {
  readonly lag: Lag;
  readonly maxLagMs: number;
  readonly log: Log;
  readonly hasPrimary: Replicas['hasPrimary'];
  readonly readPosition: Replicas['readPosition'];
}

/** Why a replica is not asked; undefined if it is. */
function obstacleTo(
  { watched: { state } }: Replica,
  { lag, maxLagMs }: ReplicasOptions,
): string | undefined {
  if (!state) return 'it does not respond';
  if (!state.isReplica) return 'it is not a replica';
  return lag.of(state.position) > maxLagMs ? 'it is too far behind' : undefined;
}

/** Creates the choice between replicas; `update` must be called after the state of a server was set. */
export function createReplicas(
  all: readonly Replica[],
  options: ReplicasOptions,
): Replicas & { readonly update: () => void } {
  const usable = new Set<Replica>();
  const usableBut = (failed?: ReadonlySet<Replica>): Replica[] =>
    [...usable].filter((replica) => !failed?.has(replica));

  const update = (): void => {
    for (const replica of all) {
      const { name } = replica.watched.server;
      const obstacle = obstacleTo(replica, options);
      if (!obstacle && !usable.has(replica)) {
        usable.add(replica);
        options.log.info(`The replica ${name} is asked for reads.`);
      } else if (obstacle && usable.delete(replica)) {
        options.log.warn(`The replica ${name} is not asked for reads: ${obstacle}.`);
      }
    }
  };

  let checking: Promise<unknown> | undefined;
  const checkSoon = (): Promise<unknown> => {
    checking ??= sleep(CHECK_INTERVAL_MS)
      .then(() => Promise.race([...usable].map(({ watched }) => watched.check())))
      .finally(() => {
        checking = undefined;
      });
    return checking;
  };

  const choose = (failed?: ReadonlySet<Replica>): Replica | undefined =>
    leastUsed(failed ? usableBut(failed) : [...usable]);

  const chooseAt = async (
    position: Position,
    failed?: ReadonlySet<Replica>,
  ): Promise<Replica | undefined> => {
    const end = performance.now() + MAX_WAIT_MS;
    for (;;) {
      const replicas = usableBut(failed).filter(isOneServer);
      const reached = replicas.filter(
        ({ watched: { state } }) => state && state.position >= position,
      );
      if (reached.length > 0 || replicas.length === 0) return leastUsed(reached);
      const left = end - performance.now();
      if (left <= 0) return undefined;
      await Promise.race([checkSoon(), sleep(left, undefined, { ref: false })]);
    }
  };

  const { hasPrimary, readPosition } = options;
  return { all, hasPrimary, readPosition, isOneServer, choose, chooseAt, update };
}
