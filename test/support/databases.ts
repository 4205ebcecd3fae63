import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { PGlite } from '@electric-sql/pglite';
import { beforeAll, beforeEach, describe, inject, onTestFinished } from 'vitest';

import type { Config } from '../../src/gateway/config/config.ts';
import type { Database } from '../../src/gateway/database/database.ts';
import {
  createPglite,
  migratePglite,
  openPglite,
} from '../../src/gateway/database/embedded/pglite.ts';
import { openPostgres } from '../../src/gateway/database/postgres.ts';
import { DIRECT_SESSION } from '../../src/gateway/database/session-settings.ts';
import { createLog, type Log } from '../../src/gateway/telemetry/log.ts';
import { MIGRATIONS } from '../../src/store/migrations.ts';
import {
  createDatabaseOn,
  createStoreOn,
  dropDatabaseOn,
  migratePostgres,
  type OwnServer,
  runSql,
  startPostgres,
} from './postgres.ts';
import { killPrograms, type Program, startProgram } from './program.ts';

export type DatabaseKind = 'PGlite' | 'PostgreSQL';

declare module 'vitest' {
  interface ProvidedContext {
    databases: DatabaseKind[];
    /** The file with a dump of a migrated, empty PGlite, which tests restore. */
    emptyPglite: string;
    /** A migrated, empty database on PostgreSQL, which tests copy, and the URL of its server. */
    emptyPostgres: { server: string; url: string };
  }
}

// Set while `describeOnDatabases` runs tests. inject() is not called here: scripts import this file without Vitest.
let kind: DatabaseKind | undefined;

/** Declares tests that run on each database of the current Vitest project. */
export function describeOnDatabases(declareTests: (database: DatabaseKind) => void): void {
  describe.each(inject('databases'))('on %s', (database) => {
    beforeAll(() => {
      const before = kind;
      kind = database;
      return () => {
        kind = before;
      };
    });
    declareTests(database);
  });
}

// Unused PGlites: creating one takes five times as long as resetting one.
const idle: PGlite[] = [];

async function reset(pglite: PGlite, migrations: URL): Promise<void> {
  await pglite.exec('rollback');
  await pglite.exec('discard all');
  await pglite.exec(DIRECT_SESSION);
  await pglite.exec('drop schema public cascade; create schema public');
  await migratePglite(migrations, pglite, createLog('error'));
}

/** Returns a PGlite with the tables of a store's migrations, without rows. close() keeps it for the next caller. */
async function takePglite(migrations: URL): Promise<PGlite> {
  const used = idle.pop();
  const pglite =
    used ??
    (await createPglite({ loadDataDir: new Blob([await readFile(inject('emptyPglite'))]) }));
  if (used || migrations !== MIGRATIONS) await reset(pglite, migrations);
  pglite.close = async () => void idle.push(pglite);
  return pglite;
}

/**
 * Creates a copy of the empty database on PostgreSQL, or a database without tables for other migrations; returns its URL
 * and a function to drop it.
 */
export async function copyOnPostgres(migrations = MIGRATIONS) {
  const { server, url: empty } = inject('emptyPostgres');
  const url = await createDatabaseOn(server, migrations === MIGRATIONS ? empty : undefined);
  return { url, drop: () => dropDatabaseOn(server, url) };
}

/** Gives each test of a file or a describe() a copy of the empty database on PostgreSQL, with this URL. */
export function useCopy(): () => string {
  let url = '';
  beforeEach(async () => {
    const copy = await copyOnPostgres();
    ({ url } = copy);
    return copy.drop;
  });
  return () => url;
}

export type TestDatabase = Database & { readonly url?: string };

export interface RawDatabase {
  /** Runs SQL and returns the rows of the last statement. */
  run(sql: string): Promise<Record<string, unknown>[]>;
  /** Migrates it, and returns what that logs. */
  migrate(): Promise<string[]>;
  /** Opens the copy for a gateway; closing the returned database removes the copy too. */
  open(config: Config, log: Log): Promise<TestDatabase>;
  close(): Promise<void>;
}

async function collectLog(run: (log: Log) => Promise<void>): Promise<string[]> {
  const messages: string[] = [];
  const add = (entry: unknown, message?: string): void =>
    void messages.push(message ?? String(entry));
  await run(Object.assign(createLog('silent'), { info: add, warn: add, error: add }));
  return messages;
}

async function openRawPglite(migrations = MIGRATIONS): Promise<RawDatabase> {
  const pglite = await takePglite(migrations);
  return {
    run: async (sql) => (await pglite.exec(sql)).at(-1)?.rows ?? [],
    migrate: () => collectLog((log) => migratePglite(migrations, pglite, log)),
    open: (_config, log) => openPglite(migrations, pglite, log),
    close: () => pglite.close(),
  };
}

async function openRawPostgres(migrations = MIGRATIONS): Promise<RawDatabase> {
  const { url, drop } = await copyOnPostgres(migrations);
  return {
    run: (sql) => runSql(url, sql),
    migrate: () => collectLog((log) => migratePostgres(url, {}, log)),
    open: async (config, log) => {
      const db = await openPostgres(migrations, url, config, log);
      const close = async (): Promise<void> => {
        await db.close();
        await drop();
      };
      return { ...db, url, close };
    },
    close: drop,
  };
}

/**
 * Creates a copy of the empty database, or one for other migrations; close() removes it. It is on the first database of
 * the current Vitest project or, inside `describeOnDatabases`, on the database under test.
 */
export const openRaw = (migrations?: URL): Promise<RawDatabase> =>
  ((kind ?? inject('databases')[0]) === 'PGlite' ? openRawPglite : openRawPostgres)(migrations);

/** Opens a copy of the empty database for a gateway; closing the database removes the copy. */
export const openCopy = async (config: Config, log: Log): Promise<TestDatabase> =>
  (await openRaw()).open(config, log);

/** Returns a function that opens a copy in which SQL has run. */
export const openWith = (text: string) => async (config: Config, log: Log) => {
  const raw = await openRaw();
  await raw.run(text);
  return raw.open(config, log);
};

/** Opens a copy of the empty database on PostgreSQL for a gateway; closing the database removes the copy. */
export const openCopyOnPostgres = async (config: Config, log: Log): Promise<TestDatabase> =>
  (await openRawPostgres()).open(config, log);

/** Opens a copy of the empty PGlite for a gateway; closing the database resets the PGlite. */
export const openCopyOnPglite = async (config: Config, log: Log): Promise<TestDatabase> =>
  (await openRawPglite()).open(config, log);

/** Creates a role for a database until the test ends; returns its name, and the URL with which it connects. */
export async function createRoleOn(url: string): Promise<{ role: string; href: string }> {
  const role = `role_${new URL(url).pathname.slice(1)}`;
  await runSql(url, `create role ${role} login password 'x'`);
  // A database that is removed meanwhile takes the role's rights with it.
  onTestFinished(
    async () => void (await runSql(inject('emptyPostgres').server, `drop role ${role}`)),
  );
  return { role, href: Object.assign(new URL(url), { username: role, password: 'x' }).href };
}

/** A store for the programs or gateways that a test starts. */
export interface ProgramStore {
  /** The variables with which a program uses this store. */
  readonly environment: Readonly<Record<string, string>>;
  /** Its URL; empty if it is a folder. */
  readonly url: string;
  /** Runs SQL. If the store is a folder, migrates it first; no program may use the folder at the same time. */
  run(sql: string): Promise<unknown>;
}

type MakeStore = () => Promise<ProgramStore & { remove: () => Promise<void> }>;

const makeOnPostgres: MakeStore = async () => {
  const { url, drop } = await copyOnPostgres();
  return { environment: { DATABASE_URL: url }, url, run: (sql) => runSql(url, sql), remove: drop };
};

const makeFolder: MakeStore = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'store-'));
  return {
    environment: { DATA_DIR: folder },
    url: '',
    run: async (sql) => {
      const pglite = await createPglite({ dataDir: join(folder, 'pglite') });
      await migratePglite(MIGRATIONS, pglite, createLog('error'));
      await pglite.exec(sql);
      await pglite.close();
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
};

/**
 * Gives the tests of a file or a describe() a new store: a copy of the empty database, or an empty folder for PGlite.
 * Afterwards, the store is removed and all programs are killed.
 */
export function useProgramStore(on: DatabaseKind = 'PostgreSQL'): ProgramStore {
  const store = {} as ProgramStore;
  beforeAll(async () => {
    const { remove, ...made } = await (on === 'PGlite' ? makeFolder() : makeOnPostgres());
    Object.assign(store, made);
    return async () => {
      await killPrograms();
      await remove();
    };
  });
  return store;
}

export let server: OwnServer;
export let storeUrl: string;

/** Starts a server for the tests of a file alone, which may stop, suspend or change it. */
export function useServer(): void {
  beforeAll(async () => {
    server = await startPostgres();
    storeUrl = await createStoreOn(server.url);
    return () => server.remove();
  });
}

/** Starts a gateway as an operator does, for the tests of a file or a describe(). */
export function useProgram(
  store: ProgramStore,
  variables: Readonly<Record<string, string>> = {},
): Program {
  const program = {} as Program;
  beforeAll(async () => {
    Object.assign(program, await startProgram({ ...store.environment, ...variables }));
  });
  return program;
}
