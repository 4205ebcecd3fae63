import type { Config } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';
import { isRefused } from './database-errors.ts';
import { PostgresServer, READ } from './postgres-server.ts';

const PROBE_TIMEOUT_MS = 2000;

/**
 * Creates a separate connection to a server, to check whether it responds within two seconds. A busy pool must not make
 * a load balancer remove the gateway, or make the gateway stop using a replica.
 */
export const createProbe = (
  url: string,
  config: Config,
  log: Log,
  onPrimary?: (identity: string) => void,
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
    { graceMs: 0, ...(onPrimary && { onPrimary }) },
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
