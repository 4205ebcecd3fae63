import { Counter, Gauge, type Registry } from 'prom-client';

import type { Lag } from './lag.ts';
import type { Primary } from './primary.ts';
import type { WatchedServer } from './watch.ts';

interface ServersToReport {
  readonly servers: readonly WatchedServer[];
  readonly primary: Primary;
  readonly lag: Lag;
}

/** Adds the metrics of a cluster's servers to a registry. */
export function reportServers(
  { servers, primary, lag }: ServersToReport,
  registry: Registry,
): void {
  const registers = [registry];
  const gauge = (
    name: string,
    help: string,
    valueOf: (watched: WatchedServer) => number | undefined,
  ): void => {
    void new Gauge({
      name,
      help,
      registers,
      labelNames: ['server'],
      collect() {
        this.reset();
        for (const watched of servers) {
          const value = valueOf(watched);
          if (value !== undefined) this.set({ server: watched.name }, value);
        }
      },
    });
  };
  gauge('database_server_up', 'Whether the server responds.', ({ state }) => (state ? 1 : 0));
  gauge('database_server_primary', 'Whether writes go to the server.', (server) =>
    server === primary.current ? 1 : 0,
  );
  gauge('database_replica_lag_seconds', 'How far the replica is behind the primary.', ({ state }) =>
    state?.isReplica ? lag.of(state.position) / 1000 : undefined,
  );
  void new Counter({
    name: 'database_server_statements_total',
    help: 'Number of statements and transactions sent to the server.',
    registers,
    labelNames: ['server'],
    collect() {
      this.reset();
      for (const { name, statements } of servers) this.inc({ server: name }, statements);
    },
  });
  void new Counter({
    name: 'database_failovers_total',
    help: 'Number of times that another server became the primary.',
    registers,
    collect() {
      this.reset();
      this.inc(primary.failovers);
    },
  });
}
