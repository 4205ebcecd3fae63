import { type Config, ConfigError } from '../../config/config.ts';
import { Unavailable } from '../../contract/gateway-error.ts';
import type { Log } from '../../telemetry/log.ts';
import { toObstacle } from '../database-errors.ts';
import type { PoolUse } from '../database-metrics.ts';
import type { Readiness } from '../database.ts';
import type { Servers } from '../postgres.ts';
import { Lag } from './lag.ts';
import { Primary } from './primary.ts';
import { Replicas } from './replicas.ts';
import { reportServers } from './server-metrics.ts';
import { type StateRow, WatchedServer } from './watch.ts';

const NO_POOL: PoolUse = { max: 0, total: 0, idle: 0, waiting: 0 };

/**
 * Several servers, one of which accepts writes. Each is checked every half second (watch.ts). Its state is then passed
 * on in this order:
 *
 *   primary.elect      which server accepts writes
 *   lag.add            how far the log has grown
 *   replicas.update    which replicas may be read
 */
class Cluster {
  readonly servers: readonly WatchedServer[];
  readonly primary: Primary;
  readonly lag: Lag;
  /** Undefined if no URL of a replica is set. */
  readonly replicas: Replicas | undefined;
  readonly #primaryUrls: readonly string[];

  constructor(
    primaryUrls: readonly string[],
    replicaUrls: readonly string[],
    config: Config,
    log: Log,
  ) {
    this.#primaryUrls = primaryUrls;
    this.servers = [...new Set([...primaryUrls, ...replicaUrls])].map(
      (url) => new WatchedServer(url, config, log, this),
    );
    const ofUrls = (urls: readonly string[]): WatchedServer[] =>
      this.servers.filter(({ url }) => urls.includes(url));
    this.primary = new Primary(ofUrls(primaryUrls), log);
    const maxLagMs = config.replicaMaxLagMs;
    this.lag = new Lag(maxLagMs);
    if (replicaUrls.length > 0) {
      const options = { lag: this.lag, maxLagMs, log };
      this.replicas = new Replicas(ofUrls(replicaUrls), this.primary, options);
    }
  }

  onState({ state }: WatchedServer): void {
    const { primary } = this;
    primary.elect();
    if (state && state === primary.current?.state) this.lag.add(state.position, primary.timeline);
    this.replicas?.update();
  }

  /**
   * Whether new connections to a server's address may lead to another server:
   *
   *   only a replica's                if it is no longer a replica
   *   one of several in DATABASE_URL  no: each is one server
   *   the only one in DATABASE_URL    if it rejects writes, was demoted, or another server was seen there
   */
  mayLeadElsewhere({ url, identities }: WatchedServer, state: StateRow): boolean {
    if (!this.#primaryUrls.includes(url)) return !state.isReplica;
    if (this.#primaryUrls.length > 1) return false;
    // A stale primary that has not noticed its demotion still accepts writes. A later timeline reveals it, and so do
    // connections to the same address that lead to another server.
    const timelines = this.servers.map((server) => server.state?.timeline ?? 0);
    const isStale = (state.timeline ?? 0) < Math.max(this.primary.timeline, ...timelines);
    return !state.writes || isStale || [...identities].some((other) => other !== state.identity);
  }

  /** Checks all servers. @throws ConfigError if no server accepts writes */
  async requirePrimary(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.check()));
    if (this.primary.current) return;
    const obstacles = this.servers
      .filter(({ url }) => this.#primaryUrls.includes(url))
      .map(({ name, state, failure }) =>
        state ? `${name} does not accept writes` : toObstacle(failure),
      );
    throw new ConfigError(`DATABASE_URL: ${obstacles.join(', ')}.`);
  }

  async readiness(): Promise<Readiness> {
    if (!this.servers.some(({ state }) => state))
      throw new Unavailable('No database server is responding.');
    return { writes: this.primary.current !== undefined };
  }

  async close(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.close()));
  }
}

/**
 * Opens the servers of DATABASE_URL, one of which accepts writes, and the replicas.
 * @throws ConfigError
 */
export async function openCluster(
  primaryUrls: readonly string[],
  replicaUrls: readonly string[],
  config: Config,
  log: Log,
): Promise<Servers> {
  const cluster = new Cluster(primaryUrls, replicaUrls, config, log);
  try {
    await cluster.requirePrimary();
  } catch (error) {
    await cluster.close();
    throw error;
  }
  const { primary, replicas } = cluster;
  return {
    runner: primary,
    description: `PostgreSQL at ${cluster.servers.map(({ name }) => name).join(', ')}`,
    connect: async () => primary.requireServer().connect(),
    poolUse: () => primary.current?.poolUse() ?? NO_POOL,
    replicas,
    reportServers: (registry) => reportServers(cluster, registry),
    ping: () => cluster.readiness(),
    disconnect: () => cluster.close(),
  };
}
