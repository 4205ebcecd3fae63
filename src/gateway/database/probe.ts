import type { Config } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';
import type { FindRunning, RunningProcess } from './abandoned-statements.ts';
import { isRefused } from './database-errors.ts';
import { PostgresServer, READ, type ServerOptions } from './postgres-server.ts';

const PROBE_TIMEOUT_MS = 2000;

/**
 * Creates a separate connection to a server, to check whether it responds within two seconds. A busy pool must not make
 * a load balancer remove the gateway, or make the gateway stop using a replica.
 */
export const createProbe = (
  url: string,
  config: Config,
  log: Log,
  options: Pick<ServerOptions, 'onPrimary' | 'check'>,
): PostgresServer =>
  new PostgresServer(
    url,
    {
      ...config,
      poolSize: 1,
      connectTimeoutMs: PROBE_TIMEOUT_MS,
      statementTimeoutMs: PROBE_TIMEOUT_MS,
    },
    log,
    { graceMs: 0, ...options },
  );

/**
 * Runs a statement on the probe's connection, or, if the server allows no connection for the probe, on one of the
 * pool's.
 */
export const ask = <Row>(
  probe: PostgresServer,
  server: PostgresServer,
  text: string,
): Promise<Row[]> =>
  probe.run<Row>(text, [], READ).catch((error: unknown) => {
    if (isRefused(error)) return server.run<Row>(text, [], READ);
    throw error;
  });

const RUNNING_SQL = `SELECT pid, wait_event AS "waitEvent" FROM pg_stat_activity
  WHERE pid = ANY($1) AND state NOT LIKE 'idle%'`;

/** Returns what asks a server, through its probe, which of its processes still run a statement. */
export const createFindRunning =
  (probe: PostgresServer): FindRunning =>
  (pids) =>
    probe.run<RunningProcess>(RUNNING_SQL, [pids], READ).catch((error: unknown) => {
      // A server that allows no more connections responds, so its processes have not gone.
      if (isRefused(error)) return pids.map((pid) => ({ pid, waitEvent: null }));
      throw error;
    });
