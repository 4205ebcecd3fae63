import { setTimeout as sleep } from 'node:timers/promises';

import type { ReplicatedServer, Replication } from '../support/replication.ts';
import { type Fault, onCluster, type Stop, type World } from './fault.ts';

// A cluster needs some time to find out that its primary is lost.
const MAX_WITHOUT_PRIMARY_MS = 2000;
const MAX_DELAY_MS = 2000;

/** A primary and its replicas. */
export interface Cluster {
  readonly replication: Replication;
  primary: ReplicatedServer;
}

const replicasOf = ({ replication, primary }: Cluster): ReplicatedServer[] =>
  replication.servers.filter((server) => server !== primary);

type OnCluster = (cluster: Cluster, world: World) => Promise<Stop> | Stop;

const ofCluster = (name: string, start: OnCluster): Fault => ({
  name,
  target: 'database',
  disturbs: true,
  gatewayMayEnd: 'at its start',
  isPossible: onCluster,
  start: (world) => (world.cluster ? start(world.cluster, world) : () => {}),
});

/** Loses the primary and promotes a replica; at its end the old primary is a replica of the new one. */
const failover = (name: string, lose: (primary: ReplicatedServer) => Promise<void> | void): Fault =>
  ofCluster(name, async (cluster, { random }) => {
    const old = cluster.primary;
    const replicas = replicasOf(cluster);
    await lose(old);
    await sleep(random.whole(0, MAX_WITHOUT_PRIMARY_MS));
    cluster.primary = await cluster.replication.failOver(replicas);
    return () => old.rejoin(cluster.primary);
  });

type OnReplica = (
  replica: ReplicatedServer,
  cluster: Cluster,
  world: World,
) => Promise<Stop> | Stop;

const ofReplica = (name: string, start: OnReplica): Fault =>
  ofCluster(name, (cluster, world) =>
    start(world.random.pick(replicasOf(cluster)), cluster, world),
  );

/** Faults of a primary and its replicas. */
export const FAILOVERS: readonly Fault[] = [
  failover('primary killed', (primary) => primary.kill()),
  failover('primary stopped', (primary) => primary.stop('fast')),
  failover('primary frozen', (primary) => primary.freeze()),
  ofReplica('replica killed', async (replica, cluster) => {
    await replica.kill();
    return () => replica.rejoin(cluster.primary);
  }),
  ofReplica('replica frozen', (replica) => {
    replica.freeze();
    return () => replica.thaw();
  }),
  ofReplica('replica cut off', async (replica) => {
    await replica.cutOff();
    return () => replica.reconnect();
  }),
  ofReplica('replica delayed', async (replica, _cluster, { random }) => {
    await replica.setDelay(random.whole(100, MAX_DELAY_MS));
    return () => replica.setDelay(0);
  }),
];
