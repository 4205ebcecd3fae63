import type { Config } from '../../config/config.ts';
import type { PoolUse } from '../../telemetry/database-metrics.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Driver } from '../database.ts';
import { describe, driverOf } from '../postgres-driver.ts';
import { createServer, type Server } from '../postgres-server.ts';
import type { Readiness } from '../probe.ts';
import { createLag } from './lag.ts';
import { createPrimary, type Primary } from './primary.ts';
import { createReadPosition } from './read-position.ts';
import { createReplicas, type Replica } from './replicas.ts';
import { reportServers } from './server-metrics.ts';
import { type StateRow, watchServer, type WatchedServer } from './watch.ts';

const NO_POOL: PoolUse = { max: 0, total: 0, idle: 0, waiting: 0 };

const noReplicas = (): void => {};

/** What is known of all servers together. */
function readinessOf(servers: readonly WatchedServer[], primary: Primary): Readiness {
  const [state] = servers.flatMap((watched) => watched.state ?? []);
  if (!state) throw new Error('No server responds.');
  return { writes: primary.current() !== undefined, version: state.version };
}

const ofUrls = (servers: readonly WatchedServer[], urls: readonly string[]): WatchedServer[] =>
  servers.filter(({ server }) => urls.includes(server.url));

/**
 * Returns whether the state is that of a former primary which does not know of its end: there is a later
 * timeline, or connections to the same address lead to another server.
 */
const isFormer = (
  { timeline, identity }: StateRow,
  lastTimeline: number,
  identities: ReadonlySet<string>,
): boolean => (timeline ?? 0) < lastTimeline || [...identities].some((other) => other !== identity);

/** Creates the functions that return whether the address of a server may lead to a better one by now. */
const createMayMove =
  (primaryUrls: readonly string[], readLastTimeline: () => number) =>
  ({ url, identities }: Server) =>
  (state: StateRow): boolean => {
    if (!primaryUrls.includes(url)) return !state.isReplica;
    // Of several hosts each is one server. A single address may lead to another one after a failover.
    if (primaryUrls.length > 1) return false;
    return !state.writes || isFormer(state, readLastTimeline(), identities());
  };

/**
 * Opens the servers of DATABASE_URL, of which one accepts writes, and of DATABASE_REPLICA_URLS. They are watched.
 */
export async function openServers(
  primaryUrls: readonly string[],
  replicaUrls: readonly string[],
  config: Config,
  log: Log,
): Promise<Driver> {
  const lag = createLag(config.replicaMaxLagMs);
  let updateReplicas = noReplicas;
  const onState = ({ server, state, wasReplica }: WatchedServer, hasFailed: boolean): void => {
    primary.update();
    if (server === primary.current() && state) lag.add(state.position, primary.timeline());
    updateReplicas();
    // What waits for a lost replica can be read from another server; a write can't be repeated.
    if (hasFailed && wasReplica) server.abort();
  };
  const mayMove = createMayMove(primaryUrls, () =>
    Math.max(primary.timeline(), ...servers.map(({ state }) => state?.timeline ?? 0)),
  );
  const servers = [...new Set([...primaryUrls, ...replicaUrls])].map((url) => {
    const server = createServer(url, config, log, true);
    return watchServer(server, config, mayMove(server), onState);
  });
  const primary = createPrimary(ofUrls(servers, primaryUrls), log);
  await Promise.all(servers.map(({ check }) => check()));
  const createReplicasOf: Driver['createReplicas'] = (toSession) => {
    const all = ofUrls(servers, replicaUrls).map((watched): Replica => {
      return { watched, query: toSession(watched.server.run).query };
    });
    const replicas = createReplicas(all, {
      lag,
      maxLagMs: config.replicaMaxLagMs,
      log,
      readPrimary: () => servers.find(({ server }) => server === primary.current()),
      readTimeline: primary.timeline,
      readPosition: createReadPosition(primary.read),
    });
    updateReplicas = replicas.update;
    updateReplicas();
    return replicas;
  };
  return {
    ...driverOf(primary, config),
    description: describe(servers.map(({ server }) => server)),
    poolUse: () => primary.current()?.poolUse() ?? NO_POOL,
    ...(replicaUrls.length > 0 && { createReplicas: createReplicasOf }),
    reportServers: (registry) => reportServers(servers, primary, lag, registry),
    probe: { read: async () => readinessOf(servers, primary), disconnect: () => {} },
    disconnect: async () => {
      for (const { stop } of servers) stop();
      await Promise.all(servers.map(({ server }) => server.close()));
    },
  };
}
