import type { Config } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';
import { PostgresServer } from './postgres-server.ts';

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
