import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { inject } from 'vitest';

import { type Config, readConfig } from '../../src/config/config.ts';
import type { Database } from '../../src/database/database.ts';
import { createPglite, migratePglite, openPglite } from '../../src/database/pglite.ts';
import { migratePostgres, openPostgres } from '../../src/database/postgres.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { createDatabaseOn, dropDatabaseOn, runSql } from './postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A migrated, empty database to copy: a dump of PGlite, or its URL on a PostgreSQL. */
    emptyDatabase: { dump: Uint8Array<ArrayBuffer> } | { server: string; url: string };
  }
}

/** Makes a copy of the empty database on PostgreSQL, and gives its URL and what removes it. */
export async function copyOnPostgres(): Promise<{ url: string; drop: () => Promise<void> }> {
  const empty = inject('emptyDatabase');
  if (!('url' in empty)) throw new Error('These tests run on the embedded database.');
  const url = await createDatabaseOn(empty.server, empty.url);
  return { url, drop: () => dropDatabaseOn(empty.server, url) };
}

/** Opens a copy of the empty database; closing it removes it. */
export async function openCopy(
  config: Config,
  log: Log,
): Promise<Database & { readonly url?: string }> {
  const empty = inject('emptyDatabase');
  if ('dump' in empty) {
    return openPglite(await createPglite({ loadDataDir: new Blob([empty.dump]) }), log);
  }
  const { url, drop } = await copyOnPostgres();
  const db = await openPostgres(url, config, log);
  return {
    ...db,
    url,
    close: async () => {
      await db.close();
      await drop();
    },
  };
}

/** A copy of the empty database with nothing between it and the test. */
export interface RawDatabase {
  /** Runs SQL and gives the rows of the last statement. */
  run(sql: string): Promise<Record<string, unknown>[]>;
  migrate(log: Log): Promise<void>;
  close(): Promise<void>;
}

export async function openRaw(): Promise<RawDatabase> {
  const empty = inject('emptyDatabase');
  if ('dump' in empty) {
    const pglite = await createPglite({ loadDataDir: new Blob([empty.dump]) });
    return {
      run: async (sql) => (await pglite.exec(sql)).at(-1)?.rows ?? [],
      migrate: (log) => migratePglite(pglite, log),
      close: () => pglite.close(),
    };
  }
  const { url, drop } = await copyOnPostgres();
  return {
    run: (sql) => runSql(url, sql),
    migrate: (log) => migratePostgres(url, readConfig({}), log),
    close: drop,
  };
}

/** A store of its own for a program that a test starts. */
export interface ProgramStore {
  /** What tells the program where its store is. */
  readonly environment: Readonly<Record<string, string>>;
  /** Runs SQL while no program does. */
  run(sql: string): Promise<unknown>;
  remove(): Promise<void>;
}

/** Makes a folder for a program, or a copy of the empty database on PostgreSQL. */
export async function makeProgramStore(): Promise<ProgramStore> {
  if ('url' in inject('emptyDatabase')) {
    const { url, drop } = await copyOnPostgres();
    return { environment: { DATABASE_URL: url }, run: (sql) => runSql(url, sql), remove: drop };
  }
  const folder = await mkdtemp(join(tmpdir(), 'store-'));
  return {
    environment: { DATA_DIR: folder },
    run: async (sql) => {
      const pglite = await createPglite({ dataDir: join(folder, 'pglite') });
      await pglite.exec(sql);
      await pglite.close();
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
