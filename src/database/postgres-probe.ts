import { Client } from 'pg';

import type { Config } from '../config/config.ts';
import { onlyRow } from './database.ts';
import { APPLICATION_NAME, sessionSql } from './pool.ts';
import { type Probe, type Readiness, READINESS_SQL } from './probe.ts';

/**
 * Creates a probe with its own connection, as a busy pool is no reason to remove the gateway from its
 * load balancer. It connects on first use, and again after a failure.
 */
export function createPostgresProbe(url: string, config: Config): Probe {
  let current: Client | undefined;

  const disconnect = (): void => {
    // Client.end() would wait for a server that may not respond any more.
    current?.connection.stream.destroy();
    current = undefined;
  };

  async function connect(): Promise<Client> {
    const client = new Client({
      connectionString: url,
      application_name: APPLICATION_NAME,
      keepAlive: true,
    });
    current = client;
    // The connection was lost while it was idle.
    client.on('error', () => {
      if (current === client) disconnect();
    });
    await client.connect();
    await client.query(sessionSql(config));
    return client;
  }

  return {
    readReadiness: async () => {
      const client = current ?? (await connect());
      const { rows } = await client.query<Readiness>(READINESS_SQL);
      const readiness = onlyRow(rows);
      // Through a proxy or DNS the next connection may reach the new primary.
      if (!readiness.writes) disconnect();
      return readiness;
    },
    disconnect,
  };
}
