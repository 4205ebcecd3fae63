import { PrismaPg } from '@prisma/adapter-pg';
import { Pool } from 'pg';

import type { Log } from '../log.ts';
import { createDatabase, type Database } from './database.ts';
import { migrate } from './migrate.ts';

/** Opens the PostgreSQL at `url`. */
export async function openPostgres(url: string, log: Log): Promise<Database> {
  const pool = new Pool({
    connectionString: url,
    connectionTimeoutMillis: 5000,
    // Prisma's adapter reads and writes times without an offset, as if every session were in UTC.
    options: '-c TimeZone=UTC',
  });
  pool.on('error', (error) => log.warn({ err: error }, 'An idle database connection was lost.'));
  const client = await pool.connect();
  try {
    await migrate(
      {
        query: async (text, values) =>
          (await client.query<Record<string, unknown>>(text, values)).rows,
        script: async (text) => {
          await client.query(text);
        },
      },
      log,
    );
  } finally {
    client.release();
  }
  const { host, pathname } = new URL(url);
  return createDatabase({
    adapter: new PrismaPg(pool),
    description: `PostgreSQL at ${host}${pathname}`,
    log,
    disconnect: () => pool.end(),
  });
}
