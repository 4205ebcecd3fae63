import { Client } from 'pg';

import type { Config } from '../config/config.ts';
import { APPLICATION_NAME, sessionSql } from './pool.ts';
import { type Probe, type Readiness, READINESS_SQL } from './probe.ts';

/**
 * Creates a probe with a connection of its own: a pool that is busy is no reason to take the gateway
 * out of its load balancer. It connects when it is first asked, and after a failure again.
 */
export function createPostgresProbe(url: string, config: Config): Probe {
  let kept: Client | undefined;

  const drop = (): void => {
    // Client.end() would wait for a server that may no longer answer.
    kept?.connection.stream.destroy();
    kept = undefined;
  };

  async function connect(): Promise<Client> {
    const client = new Client({
      connectionString: url,
      application_name: APPLICATION_NAME,
      keepAlive: true,
    });
    kept = client;
    // Lost while nobody asked.
    client.on('error', () => {
      if (kept === client) drop();
    });
    await client.connect();
    await client.query(sessionSql(config));
    return client;
  }

  return {
    ask: async () => {
      const client = kept ?? (await connect());
      const { rows } = await client.query<Readiness>(READINESS_SQL);
      const readiness = { writes: rows[0]?.writes === true };
      // A proxy or a name may lead the next connection to the new primary.
      if (!readiness.writes) drop();
      return readiness;
    },
    drop,
  };
}
