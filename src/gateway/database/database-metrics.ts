import { Gauge, Histogram, Registry } from 'prom-client';

import { countLater } from '../telemetry/request-metrics.ts';
import type { PoolUse } from './connection-pool.ts';
import type { Effort } from './session.ts';
import type { WatchedServer } from './watched-server.ts';

/** The state of a database that responds. */
export interface Readiness {
  /**
   * Whether it accepts writes: a replica, a read-only database, one with a full disk and one whose commits wait do not.
   */
  readonly writes: boolean;
}

// Most statements take less than a millisecond; STATEMENT_TIMEOUT_MS is ten seconds by default.
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const POOL_HELP = {
  max: 'Maximum number of pooled connections to PostgreSQL (POOL_SIZE, for each address).',
  total: 'Number of pooled connections to PostgreSQL, in use or idle.',
  idle: 'Number of idle pooled connections to PostgreSQL.',
  waiting: 'Number of statements and transactions waiting for a connection.',
} as const;

/** Returns the function to call when a statement starts, which returns the function to call when it ends. */
function measureStatements(registers: Registry[]) {
  const durations = new Histogram({
    name: 'database_statement_duration_seconds',
    help:
      'Duration of each SQL statement, including the wait for a connection. Heavy statements read ' +
      'a large part of a table.',
    labelNames: ['load', 'result'],
    buckets: BUCKETS,
    registers,
  });
  for (const load of ['light', 'heavy']) {
    for (const result of ['success', 'error']) durations.zero({ load, result });
  }
  return (load: Effort['load']) => {
    const start = performance.now();
    return (result: 'success' | 'error'): void => {
      const seconds = (performance.now() - start) / 1000;
      countLater(() => durations.observe({ load, result }, seconds));
    };
  };
}

/**
 * Creates the metrics of one database. Each scrape calls `ping` to find out whether the database responds. The embedded
 * database has no `poolUse`, and most databases have no replica.
 */
export function createDatabaseMetrics(
  ping: () => Promise<Readiness>,
  poolUse: (() => PoolUse[]) | undefined,
  replica: WatchedServer | undefined,
) {
  const registry = new Registry();
  const registers = [registry];
  const addGauge = (name: string, help: string, read: () => number | Promise<number>): void => {
    void new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set(await read());
      },
    });
  };
  if (poolUse) {
    for (const state of ['max', 'total', 'idle', 'waiting'] as const) {
      const sum = () => poolUse().reduce((total, use) => total + use[state], 0);
      addGauge(`database_pool_${state}`, POOL_HELP[state], sum);
    }
  }
  const readState = () => ping().catch(() => undefined);
  addGauge('database_up', 'Whether the database, or its replica, responds in time.', async () =>
    Number((await readState()) !== undefined),
  );
  addGauge('database_writable', 'Whether the database accepts writes.', async () =>
    Number((await readState())?.writes === true),
  );
  if (replica) {
    addGauge(
      'database_replica_up',
      'Whether DATABASE_REPLICA_URL responds and has the migrations of DATABASE_URL; if not, the primary serves all reads.',
      () => Number(!replica.isLost()),
    );
  }
  return {
    registry,
    observe: measureStatements(registers),
  };
}
