import type { Config } from '../../config/config.ts';
import { splitHosts } from '../../config/database-url.ts';
import type { Log } from '../../telemetry/log.ts';
import type { PoolUse } from '../../telemetry/metrics.ts';
import { reportServers, type ServerUse } from '../../telemetry/server-metrics.ts';
import type { Driver } from '../database.ts';
import { isConflict } from '../errors.ts';
import { createPostgresProbe, READINESS } from '../postgres-probe.ts';
import type { Readiness } from '../probe.ts';
import { retryConflicts } from '../retry.ts';
import type { Run } from '../session.ts';
import { createLag, type Lag } from './lag.ts';
import { PrimaryAdapter } from './primary-adapter.ts';
import { createPrimary, type Primary } from './primary.ts';
import { createReadPosition } from './read-position.ts';
import { createReplicas, type Replica } from './replicas.ts';
import { createServer, type Server } from './server.ts';
import { type StateRow, watchServer, type WatchedServer } from './watch.ts';

// PostgreSQL copies JSON as it writes it: a process needs ten times its size, 40 MB.
const MAX_JSON_BYTES = 4 * 2 ** 20;

const NO_POOL: PoolUse = { max: 0, total: 0, idle: 0, waiting: 0 };

const noReplicas = (): void => {};

const describe = (servers: readonly Server[]): string =>
  `PostgreSQL at ${servers.map(({ name }) => name).join(', ')}`;

/** What each database on PostgreSQL has in common. */
const driverOf = (
  url: string,
  { use, read }: Pick<Primary, 'use' | 'read'>,
  { pgbouncer, ...config }: Config,
) => ({
  adapter: new PrimaryAdapter(url, use),
  run: ((text, values, options) => {
    const onPrimary = options.writes ? use : read;
    return retryConflicts(() => onPrimary(({ run }) => run(text, values, options)), isConflict);
  }) satisfies Run,
  transaction: <Result>(work: (run: Run) => Promise<Result>) =>
    use(({ transaction }) => transaction(work)),
  // A pooler may give the next statement another connection.
  keepsPlans: !pgbouncer,
  maxJsonBytes: MAX_JSON_BYTES,
  heavyLimits: { concurrency: Math.ceil(config.poolSize / 2), maxWaitMs: config.connectTimeoutMs },
});

/** Opens the only server. */
function openServer(url: string, config: Config, log: Log): Driver {
  const server = createServer(url, config, log, false);
  const onServer: Primary['use'] = (work) => work(server);
  const probe = createPostgresProbe(url, config, READINESS);
  return {
    ...driverOf(url, { use: onServer, read: onServer }, config),
    description: `${describe([server])}${new URL(url).pathname}`,
    poolUse: server.poolUse,
    probe,
    disconnect: async () => {
      probe.disconnect();
      await server.close();
    },
  };
}

/** What is known of all servers together. */
function readinessOf(servers: readonly WatchedServer[], primary: Primary): Readiness {
  const [state] = servers.flatMap((watched) => watched.state ?? []);
  if (!state) throw new Error('No server responds.');
  return { writes: primary.current() !== undefined, version: state.version };
}

function toUse({ server, state }: WatchedServer, primary: Primary, lag: Lag): ServerUse {
  return {
    name: server.name,
    isUp: state !== undefined,
    isPrimary: server === primary.current(),
    lagMs: state?.isReplica ? lag.of(state.position) : undefined,
    statements: server.countStatements(),
  };
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

/** Opens a primary, which can be any of several servers, and replicas. */
async function openServers(
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
    return watchServer(server, { config, shouldReconnect: mayMove(server), onState });
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
    ...driverOf(primaryUrls[0] ?? '', primary, config),
    description: describe(servers.map(({ server }) => server)),
    poolUse: () => primary.current()?.poolUse() ?? NO_POOL,
    ...(replicaUrls.length > 0 && { createReplicas: createReplicasOf }),
    reportServers: (registry) => {
      const readServers = () => servers.map((watched) => toUse(watched, primary, lag));
      reportServers({ readServers, readFailovers: primary.failovers }, registry);
    },
    probe: { read: async () => readinessOf(servers, primary), disconnect: () => {} },
    disconnect: async () => {
      for (const { stop } of servers) stop();
      await Promise.all(servers.map(({ server }) => server.close()));
    },
  };
}

/**
 * Opens the servers of DATABASE_URL, of which one accepts writes, and of DATABASE_REPLICA_URLS. A single
 * server is not watched, as there is no other one.
 */
export async function openDriver(url: string, config: Config, log: Log): Promise<Driver> {
  const primaryUrls = splitHosts(url);
  const replicaUrls = config.replicaUrls.flatMap(splitHosts);
  const [only] = primaryUrls;
  if (only && primaryUrls.length === 1 && replicaUrls.length === 0) {
    return openServer(only, config, log);
  }
  return openServers(primaryUrls, replicaUrls, config, log);
}
