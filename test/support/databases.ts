import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { PGlite } from '@electric-sql/pglite';
import { inject } from 'vitest';

import { type Config, readConfig } from '../../src/config/config.ts';
import type { Database } from '../../src/database/database.ts';
import { createPglite, migratePglite, openPglite } from '../../src/database/pglite.ts';
import { migratePostgres, openPostgres } from '../../src/database/postgres.ts';
import { OWN_SESSION } from '../../src/database/session-settings.ts';
import { createLog, type Log } from '../../src/telemetry/log.ts';
import { createDatabaseOn, dropDatabaseOn, runSql } from './postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A migrated, empty database to copy: a file with a dump of PGlite, or a URL of PostgreSQL. */
    emptyDatabase: { dump: string } | { server: string; url: string };
  }
}

// PGlites that are not in use: to create one takes five times as long as to reset one.
const idle: PGlite[] = [];

/** Restores a migrated, empty database and the settings of a new session. */
async function reset(pglite: PGlite): Promise<void> {
  await pglite.exec('rollback');
  await pglite.exec('discard all');
  await pglite.exec(OWN_SESSION);
  await pglite.exec('drop schema public cascade; create schema public');
  await migratePglite(pglite, createLog('error'));
}

/** Returns a PGlite with an empty database; close() resets it for the next caller. */
async function takePglite(dump: string): Promise<PGlite> {
  const pglite =
    idle.pop() ?? (await createPglite({ loadDataDir: new Blob([await readFile(dump)]) }));
  pglite.close = async () => {
    await reset(pglite);
    idle.push(pglite);
  };
  return pglite;
}

/** Creates a copy of the empty database on PostgreSQL; returns its URL and a function to drop it. */
export async function copyOnPostgres(): Promise<{ url: string; drop: () => Promise<void> }> {
  const empty = inject('emptyDatabase');
  if (!('url' in empty)) throw new Error('These tests run on the embedded database.');
  const url = await createDatabaseOn(empty.server, empty.url);
  return { url, drop: () => dropDatabaseOn(empty.server, url) };
}

/** A database, with its URL if it is on PostgreSQL. */
export type TestDatabase = Database & { readonly url?: string };

/** A copy of the empty database, without a gateway. */
export interface RawDatabase {
  /** Runs SQL and returns the rows of the last statement. */
  run(sql: string): Promise<Record<string, unknown>[]>;
  migrate(log: Log): Promise<void>;
  /** Opens it for a gateway; closing that removes it too. */
  open(config: Config, log: Log): Promise<TestDatabase>;
  close(): Promise<void>;
}

function openEmbedded(pglite: PGlite): RawDatabase {
  return {
    run: async (sql) => (await pglite.exec(sql)).at(-1)?.rows ?? [],
    migrate: (log) => migratePglite(pglite, log),
    open: (_config, log) => openPglite(pglite, log),
    close: () => pglite.close(),
  };
}

/** Creates a copy of the empty database; close() removes it. */
export async function openRaw(): Promise<RawDatabase> {
  const empty = inject('emptyDatabase');
  if ('dump' in empty) return openEmbedded(await takePglite(empty.dump));
  const { url, drop } = await copyOnPostgres();
  return {
    run: (sql) => runSql(url, sql),
    migrate: (log) => migratePostgres(url, readConfig({}), log),
    open: async (config, log) => {
      const db = await openPostgres(url, config, log);
      const close = async (): Promise<void> => {
        await db.close();
        await drop();
      };
      return { ...db, url, close };
    },
    close: drop,
  };
}

/** Opens a copy of the empty database for a gateway; closing it removes it. */
export const openCopy = async (config: Config, log: Log): Promise<TestDatabase> =>
  (await openRaw()).open(config, log);

/** A store for a program that a test starts. */
export interface ProgramStore {
  /** The variables with which the program uses this store. */
  readonly environment: Readonly<Record<string, string>>;
  /** Runs SQL; no program may run meanwhile. */
  run(sql: string): Promise<unknown>;
  remove(): Promise<void>;
}

/** Creates an empty folder for a program, or a copy of the empty database on PostgreSQL. */
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
