import { EventEmitter } from 'node:events';

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
import { createPrimary, createReadPosition, type Primary } from './primary.ts';
import { createReplicas, type Replica } from './replicas.ts';
import { createServer, type Server } from './server.ts';
import { watchServer, type WatchedServer } from './watch.ts';

const NO_POOL: PoolUse = { max: 0, total: 0, idle: 0, waiting: 0 };

const describe = (servers: readonly Server[]): string =>
  `PostgreSQL at ${servers.map(({ name }) => name).join(', ')}`;

/** What each database on PostgreSQL has in common. */
const driverOf = (url: string, onPrimary: Primary['use'], { pgbouncer, ...config }: Config) => ({
  adapter: new PrimaryAdapter(url, onPrimary),
  run: ((text, values, planning) =>
    retryConflicts(
      () => onPrimary(({ run }) => run(text, values, planning)),
      isConflict,
    )) satisfies Run,
  transaction: <Result>(work: (run: Run) => Promise<Result>) =>
    onPrimary(({ transaction }) => transaction(work)),
  // A pooler may give the next statement another connection.
  keepsPlans: !pgbouncer,
  heavyLimits: { concurrency: Math.ceil(config.poolSize / 2), maxWaitMs: config.connectTimeoutMs },
});

/** Opens the only server. */
function openServer(url: string, config: Config, log: Log): Driver {
  const server = createServer(url, config, log);
  const probe = createPostgresProbe(url, config, READINESS);
  return {
    ...driverOf(url, (work) => work(server), config),
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
  const states = servers.flatMap(({ state }) => state ?? []);
  const [state] = states;
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

/** Opens a primary, which can be any of several servers, and replicas. */
async function openServers(
  primaryUrls: readonly string[],
  replicaUrls: readonly string[],
  config: Config,
  log: Log,
): Promise<Driver> {
  const lag = createLag(config.replicaMaxLagMs);
  const mayMove = primaryUrls.length === 1;
  const changes = new EventEmitter();
  const onState = ({ server, state, wasReplica }: WatchedServer, isSilent: boolean): void => {
    primary.update();
    if (server === primary.current() && state) lag.add(state.position);
    changes.emit('state');
    // What waits for a silent replica can be read from another server; a write can't be repeated.
    if (isSilent && wasReplica) server.abort();
  };
  const servers = [...new Set([...primaryUrls, ...replicaUrls])].map((url) =>
    watchServer(createServer(url, config, log), config, mayMove && url === primaryUrls[0], onState),
  );
  const named = (urls: readonly string[]): WatchedServer[] =>
    servers.filter(({ server }) => urls.includes(server.url));
  const primary = createPrimary(named(primaryUrls), log);
  await Promise.all(servers.map(({ check }) => check()));
  const createReplicasOf: Driver['createReplicas'] = (toSession) => {
    const all = named(replicaUrls).map((watched): Replica => {
      return { watched, query: toSession(watched.server.run).query };
    });
    const replicas = createReplicas(all, {
      lag,
      maxLagMs: config.replicaMaxLagMs,
      log,
      hasPrimary: () => primary.current() !== undefined,
      readPosition: createReadPosition(primary.use),
    });
    changes.on('state', replicas.update);
    replicas.update();
    return replicas;
  };
  return {
    ...driverOf(primaryUrls[0] ?? '', primary.use, config),
    description: describe(servers.map(({ server }) => server)),
    poolUse: () => primary.current()?.poolUse() ?? NO_POOL,
    ...(replicaUrls.length > 0 && { createReplicas: createReplicasOf }),
    reportServers: (registry) =>
      reportServers(
        {
          readServers: () => servers.map((watched) => toUse(watched, primary, lag)),
          readFailovers: primary.failovers,
        },
        registry,
      ),
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
