import { Counter, Gauge, type Registry } from 'prom-client';

/** A server of PostgreSQL as it is now. */
interface ServerUse {
  /** Its host and port. */
  readonly name: string;
  readonly isUp: boolean;
  readonly isPrimary: boolean;
  /** How far a replica is behind the primary, in milliseconds; undefined if that is not known. */
  readonly lagMs: number | undefined;
}

/** Counts what happens with several servers. */
export interface ServerMetrics {
  /** Counts a read of a request, by the server that responded. */
  readonly countRead: (server: string) => void;
  readonly countFailover: () => void;
}

/** Creates the metrics of several servers; `readUse` is called each time they are read. */
export function createServerMetrics(
  registry: Registry,
  readUse: () => readonly ServerUse[],
): ServerMetrics {
  const registers = [registry];
  const gauge = (
    name: string,
    help: string,
    valueOf: (server: ServerUse) => number | undefined,
  ): void => {
    void new Gauge({
      name,
      help,
      registers,
      labelNames: ['server'],
      // All workers see the same servers.
      aggregator: 'max',
      collect() {
        this.reset();
        for (const server of readUse()) {
          const value = valueOf(server);
          if (value !== undefined) this.set({ server: server.name }, value);
        }
      },
    });
  };
  gauge('database_server_up', 'Whether the server responds.', ({ isUp }) => Number(isUp));
  gauge('database_server_primary', 'Whether writes go to the server.', ({ isPrimary }) =>
    Number(isPrimary),
  );
  gauge(
    'database_replica_lag_seconds',
    'How far the replica is behind the primary.',
    ({ lagMs }) => lagMs && lagMs / 1000,
  );
  const reads = new Counter({
    name: 'database_reads_total',
    help: 'Number of queries and REST statements, by the server that was asked.',
    labelNames: ['server'],
    registers,
  });
  const failovers = new Counter({
    name: 'database_failovers_total',
    help: 'Number of times that another server became the primary.',
    registers,
  });
  return {
    countRead: (server) => reads.inc({ server }),
    countFailover: () => failovers.inc(),
  };
}
