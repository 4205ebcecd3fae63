import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

// The bounds of the buckets, in seconds.
const DELAY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

/** The size of the change log: an estimate, and the time since its first change. */
export interface LogSize {
  readonly rows: number;
  readonly ageSeconds: number;
}

export type ChangeMetrics = ReturnType<typeof createChangeMetrics>;

/** Creates the metrics of the change log and of the streams that follow it. */
export function createChangeMetrics(registers: Registry[]) {
  const addGauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers });
  const active = addGauge('streams_active', 'Number of open subscriptions.');
  const streams = new Counter({
    name: 'streams_total',
    help:
      'Number of closed subscriptions, by the code of the error that closed them. The code is ' +
      '"none" if the client closed them.',
    labelNames: ['code'],
    registers,
  });
  const delays = new Histogram({
    name: 'change_delay_seconds',
    help: 'Time from a change until a process reads it for its subscriptions.',
    buckets: DELAY_BUCKETS,
    registers,
  });
  const unknownChanges = new Counter({
    name: 'unknown_changes_total',
    help:
      'Number of changes that were not sent to subscriptions, because only a later release ' +
      'knows their type or kind.',
    registers,
  });
  const logRows = addGauge(
    'change_log_rows',
    'Number of changes in the change log, as PostgreSQL estimates it; read every ten minutes.',
  );
  const logAge = addGauge(
    'change_log_age_seconds',
    'Time since the first change in the change log; read every ten minutes.',
  );
  return {
    setLogSize: ({ rows, ageSeconds }: LogSize): void => {
      logRows.set(rows);
      logAge.set(ageSeconds);
    },
    /** Counts a stream. The returned function must be called when it closes, with the code of the error, if any. */
    beginStream: () => {
      active.inc();
      return (code = 'none'): void => {
        active.dec();
        streams.inc({ code });
      };
    },
    /** Records the delays of the changes read for the streams, and how many unsupported changes were skipped. */
    observeChanges: (
      changes: readonly { readonly delaySeconds: number }[],
      unsupported: number,
    ): void => {
      unknownChanges.inc(unsupported);
      for (const { delaySeconds } of changes) delays.observe(Math.max(delaySeconds, 0));
    },
  };
}
