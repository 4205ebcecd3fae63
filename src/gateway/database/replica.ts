import type { ClientBase } from 'pg';

import type { Config } from '../config/config.ts';
import { toServerUrl } from '../config/database-url.ts';
import type { Log } from '../telemetry/log.ts';
import { isConnectionLost, isRefused, toObstacle } from './database-errors.ts';
import type { Replica } from './driver.ts';
import { type History, requireHistory } from './migrations.ts';
import { watchOutages } from './outage.ts';
import { PostgresServer, READ } from './postgres-server.ts';
import { createProbe } from './probe.ts';

// How often to check that the replica responds, so that reads do not wait for a frozen one until they time out.
const CHECK_MS = 1000;

/**
 * Opens the replica of a primary with these migrations, whether or not it responds. It is checked every second until it
 * is closed.
 */
export function openReplica(url: string, config: Config, log: Log, migrations: History): Replica {
  const serverUrl = toServerUrl(url);
  // Each new connection is checked, because it may lead to another server.
  const check = (client: ClientBase): Promise<void> =>
    requireHistory(
      migrations,
      async (text) => (await client.query<Record<string, unknown>>(text)).rows,
    );
  const probe = createProbe(serverUrl, config, log, { check });
  const logged = new Set<string>();
  // The probe's connection may lead to a server that passes the check.
  const checkAndLog = (client: ClientBase): Promise<void> =>
    check(client).catch((error: unknown) => {
      const obstacle = toObstacle(error);
      if (!isConnectionLost(error) && !logged.has(obstacle)) {
        logged.add(obstacle);
        log.warn(`A server at the replica's address ${server.name} is not used: ${obstacle}.`);
      }
      throw error;
    });
  const server = new PostgresServer(serverUrl, config, log, {
    check: checkAndLog,
    onLoss: () => void outages.check(),
  });
  const ping = async (): Promise<void> => {
    try {
      await probe.run('SELECT', [], READ);
    } catch (error) {
      // A server that allows no more connections responds, on those that are open.
      if (isRefused(error)) return;
      // The reads that wait for it can run on the primary.
      server.abort();
      throw error;
    }
  };
  const outages = watchOutages(`replica ${server.name}`, ping, log);
  void outages.check();
  const timer = setInterval(() => void outages.check(), CHECK_MS).unref();
  return {
    name: server.name,
    run: (...args) => server.run(...args),
    isLost: () => outages.isLost(),
    poolUse: () => server.poolUse(),
    close: async () => {
      clearInterval(timer);
      outages.close();
      probe.abort();
      await Promise.all([probe.close(), server.close()]);
    },
  };
}
