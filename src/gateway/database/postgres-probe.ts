import { Client } from 'pg';

import type { Config } from '../config/config.ts';
import { APPLICATION_NAME, sessionSql } from './pool.ts';
import type { Probe } from './probe.ts';
import { onlyRow } from './session.ts';

/**
 * Creates a probe with its own connection, as a busy pool is no reason to remove the gateway from its
 * load balancer. It connects on first use, and again after a failure, or if `shouldReconnect`: a proxy or DNS may
 * lead to another server by now.
 */
export function createPostgresProbe<State extends object>(
  url: string,
  config: Config,
  sql: string,
  shouldReconnect: (state: State) => boolean,
): Probe<State> {
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
    read: async () => {
      const client = current ?? (await connect());
      const { rows } = await client.query<State>(sql);
      const state = onlyRow(rows);
      if (shouldReconnect(state)) disconnect();
      return state;
    },
    disconnect,
  };
}
