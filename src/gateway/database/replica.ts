import type { ClientBase } from 'pg';

import type { Config } from '../config/config.ts';
import { toServerUrl } from '../config/database-url.ts';
import type { Log } from '../telemetry/log.ts';
import { isConnectionLost, isRefused, toObstacle } from './database-errors.ts';
import { type History, requireHistory } from './migrations.ts';
import { READ } from './session.ts';
import { WatchedServer } from './watched-server.ts';

/** Opens the replica of a primary with these migrations, whether or not it responds. */
export function openReplica(
  url: string,
  config: Config,
  log: Log,
  migrations: History,
): WatchedServer {
  // Each new connection is checked, because it may lead to another server.
  const checkProbe = (client: ClientBase): Promise<void> =>
    requireHistory(
      migrations,
      async (text) => (await client.query<Record<string, unknown>>(text)).rows,
    );
  const logged = new Set<string>();
  // The probe's connection may lead to a server that passes the check.
  const check = (client: ClientBase): Promise<void> =>
    checkProbe(client).catch((error: unknown) => {
      const obstacle = toObstacle(error);
      if (!isConnectionLost(error) && !logged.has(obstacle)) {
        logged.add(obstacle);
        log.warn(`A server at the replica's address ${pool.name} is not used: ${obstacle}.`);
      }
      throw error;
    });
  const ping = async (): Promise<void> => {
    try {
      await watched.probe.run('SELECT', [], READ);
    } catch (error) {
      // A server that allows no more connections responds, on those that are open.
      if (isRefused(error)) return;
      // The reads that wait for it can run on the primary.
      pool.abort();
      throw error;
    }
  };
  const watched = new WatchedServer(toServerUrl(url), config, log, {
    kind: 'replica',
    ping,
    check,
    checkProbe,
  });
  const { pool } = watched;
  // So that reads do not wait for a frozen replica until they time out.
  watched.watch();
  return watched;
}
