import { Client } from 'pg';

import { type Config, ConfigError } from '../config/config.ts';
import { splitHosts } from '../config/database-url.ts';
import { toError } from '../contract/gateway-error.ts';
import { STATE_SQL, type StateRow } from './cluster/watch.ts';
import { APPLICATION_NAME } from './pool.ts';
import { onlyRow } from './session.ts';

const ignore = (): void => {};

/** Connects to one host. */
async function connectTo(url: string, { connectTimeoutMs }: Config): Promise<Client> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: APPLICATION_NAME,
    keepAlive: true,
  });
  // The connection may fail between two statements: then the next one rejects.
  client.on('error', ignore);
  await client.connect();
  return client;
}

/** Returns the timeline of a server; 0 if it accepts no writes. */
async function timelineOf(client: Client): Promise<number> {
  const { writes, timeline } = onlyRow((await client.query<StateRow>(STATE_SQL)).rows);
  return writes ? (timeline ?? 0) : 0;
}

/** Returns the connection to the server that accepts writes; of several, the one that was promoted last. */
async function findPrimary(clients: readonly Client[]): Promise<Client | undefined> {
  const timelines = await Promise.all(clients.map((client) => timelineOf(client).catch(() => 0)));
  const latest = Math.max(...timelines);
  return latest > 0 ? clients[timelines.indexOf(latest)] : undefined;
}

/**
 * Connects to the one of the hosts that accepts writes; a single host is taken as it is. Of several, it is
 * the one that was promoted last: the others do not know of their end.
 * @throws ConfigError
 */
export async function connectToPrimary(url: string, config: Config): Promise<Client> {
  const urls = splitHosts(url);
  const attempts = await Promise.allSettled(urls.map((one) => connectTo(one, config)));
  const clients = attempts.flatMap((attempt) =>
    attempt.status === 'fulfilled' ? attempt.value : [],
  );
  const [only] = clients;
  if (only && urls.length === 1) return only;
  const primary = await findPrimary(clients);
  await Promise.all(clients.filter((client) => client !== primary).map((client) => client.end()));
  if (primary) return primary;
  const obstacles = attempts.map((attempt, index) => {
    if (attempt.status === 'fulfilled')
      return `${new URL(urls[index] ?? '').host} accepts no writes`;
    const { message, code }: NodeJS.ErrnoException = toError(attempt.reason);
    return message || String(code);
  });
  throw new ConfigError(`DATABASE_URL: ${obstacles.join(', ')}.`);
}
