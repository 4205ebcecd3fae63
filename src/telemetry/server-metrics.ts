import { Counter, Gauge, type Registry } from 'prom-client';

/** A server of PostgreSQL as it is now. */
export interface ServerUse {
  /** Its host and port. */
  readonly name: string;
  readonly isUp: boolean;
  readonly isPrimary: boolean;
  /** How far a replica is behind the primary, in milliseconds; undefined if it is no replica or not known. */
  readonly lagMs: number | undefined;
  /** How many statements and transactions were sent to it since the start. */
  readonly statements: number;
}

/** Several servers, of which one is the primary. */
export interface ServersUse {
  readonly readServers: () => readonly ServerUse[];
  /** Returns how often another server became the primary since the start. */
  readonly readFailovers: () => number;
}

/** Adds the metrics of several servers to a registry. */
export function reportServers(
  { readServers, readFailovers }: ServersUse,
  registry: Registry,
): void {
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
        for (const server of readServers()) {
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
  gauge('database_replica_lag_seconds', 'How far the replica is behind the primary.', ({ lagMs }) =>
    lagMs === undefined ? undefined : lagMs / 1000,
  );
  void new Counter({
    name: 'database_server_statements_total',
    help: 'Number of statements and transactions that were sent to the server.',
    registers,
    labelNames: ['server'],
    collect() {
      this.reset();
      for (const { name, statements } of readServers()) this.inc({ server: name }, statements);
    },
  });
  void new Counter({
    name: 'database_failovers_total',
    help: 'Number of times that another server became the primary.',
    registers,
    collect() {
      this.reset();
      this.inc(readFailovers());
    },
  });
}
