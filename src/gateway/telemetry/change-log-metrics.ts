import { Gauge, type Registry } from 'prom-client';

/** The size of the change log: an estimate, and the time since its first change. */
export interface LogSize {
  readonly rows: number;
  readonly ageSeconds: number;
}

/** Creates the metrics of the change log, and returns the function that sets them. */
export function createChangeLogMetrics(registers: Registry[]) {
  const logRows = new Gauge({
    name: 'change_log_rows',
    help: 'Number of changes in the change log, as PostgreSQL estimates it; read every ten minutes.',
    registers,
  });
  const logAge = new Gauge({
    name: 'change_log_age_seconds',
    help: 'Time since the first change in the change log; read every ten minutes.',
    registers,
  });
  return ({ rows, ageSeconds }: LogSize): void => {
    logRows.set(rows);
    logAge.set(ageSeconds);
  };
}
