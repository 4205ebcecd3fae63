import { Gauge, Registry } from 'prom-client';

import { SeriesHistogram } from './histogram.ts';

// Most statements take less than a millisecond; STATEMENT_TIMEOUT_MS is ten seconds by default.
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What a database responds when it is asked whether it is ready. */
interface Readiness {
  readonly writes: boolean;
}

/** The metrics of one database. */
export interface DatabaseMetrics {
  readonly registry: Registry;
  /** Runs a statement and observes how long that took. */
  readonly timeStatement: <Result>(
    load: 'light' | 'heavy',
    run: () => Promise<Result>,
  ) => Promise<Result>;
}

/**
 * Creates the metrics of one database. Each time they are read, `ping` is called to learn whether the
 * database responds.
 */
export function createDatabaseMetrics(ping: () => Promise<Readiness>): DatabaseMetrics {
  const registry = new Registry();
  const registers = [registry];
  const durations = new SeriesHistogram({
    name: 'database_statement_duration_seconds',
    help: 'Duration of each SQL statement with its wait for a connection, by how much it reads.',
    labelNames: ['load', 'result'],
    buckets: BUCKETS,
    registers,
  });
  // How statements end, by how much they read.
  const ends = {
    light: {
      success: durations.createSeries({ load: 'light', result: 'success' }),
      error: durations.createSeries({ load: 'light', result: 'error' }),
    },
    heavy: {
      success: durations.createSeries({ load: 'heavy', result: 'success' }),
      error: durations.createSeries({ load: 'heavy', result: 'error' }),
    },
  };
  const addGauge = (name: string, help: string, isTrue: (state: Readiness) => boolean): void => {
    void new Gauge({
      name,
      help,
      registers,
      // Of several workers: 0 if it is 0 for one of them.
      aggregator: 'min',
      // Both gauges call it at the same time, and share one statement.
      async collect() {
        this.set((await ping().then(isTrue, () => false)) ? 1 : 0);
      },
    });
  };
  addGauge('database_up', 'Whether the database responds within two seconds.', () => true);
  addGauge('database_writable', 'Whether the database accepts writes.', ({ writes }) => writes);
  return {
    registry,
    timeStatement: (load, run) => {
      const start = performance.now();
      const observe = (end: (seconds: number) => void): void =>
        end((performance.now() - start) / 1000);
      const running = run();
      const { success, error } = ends[load];
      running.then(
        () => observe(success),
        () => observe(error),
      );
      return running;
    },
  };
}
