import { Client } from 'pg';

import type { Config } from '../config/config.ts';
import { pidOf, toClientConfig } from './connection-pool.ts';
import { onlyRow } from './session.ts';

const ROUNDS = 5;

const processOf = async (client: Client): Promise<number> =>
  onlyRow((await client.query<{ id: number }>('SELECT pg_backend_pid() AS "id"')).rows).id;

/** Opens a connection without the settings of a session, and closes it after `work`. */
async function withClient<Result>(
  url: string,
  config: Config,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({
    ...toClientConfig(url, config),
    query_timeout: config.statementTimeoutMs,
  });
  // The statement that runs next fails, too.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * Whether two connections share server processes. They run statements in turn: a pooler in transaction mode gives the
 * second one the process that the first one has just returned, unless another client is faster, in each round.
 */
async function shareProcesses(first: Client, second: Client): Promise<boolean> {
  const [own, others] = [new Set<number>(), new Set<number>()];
  for (let round = 0; round < ROUNDS; round += 1) {
    own.add(await processOf(first));
    others.add(await processOf(second));
  }
  return own.size > 1 || others.size > 1 || [...own].some((id) => others.has(id));
}

/**
 * Requires that each connection keeps its server process, which has the connection's settings and prepared statements.
 * @throws Error behind a pooler in transaction or statement mode
 */
export const requireOwnProcess = (url: string, config: Config): Promise<void> =>
  withClient(url, config, async (client) => {
    // PostgreSQL announces the process. A pooler, which has not chosen one yet, announces a number of its own.
    if ((await processOf(client)) === pidOf(client)) return;
    const isShared = await withClient(url, config, (other) => shareProcesses(client, other)).catch(
      // In session mode, the other connection may wait until this one is closed.
      () => false,
    );
    if (isShared) throw new Error('it leads to a pooler in transaction mode: set PGBOUNCER=true');
  });
