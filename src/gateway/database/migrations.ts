import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { codeOf, toError } from '../contract/gateway-error.ts';
import type { Log } from '../telemetry/log.ts';

// An arbitrary number, the same in every gateway.
const LOCK_ID = 7_246_531;

const UNDEFINED_TABLE = '42P01';
const LOCK_NOT_AVAILABLE = '55P03';
const INSUFFICIENT_PRIVILEGE = '42501';

// While a migration waits for a table that a long transaction uses, all requests that use this table wait behind it. So
// a migration gives up soon, and lets the requests pass before it tries again.
const LOCK_TIMEOUT = '1s';
const PAUSE_MS = 5000;

/** Runs one statement on a connection, or several if there are no values. Returns the rows of the last statement. */
export type RunSql = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

/** The database can't be migrated, or lacks something that a migration must add. The message says what is wrong. */
export class MigrationError extends Error {}

// Prisma Migrate's table, so that `prisma migrate deploy` can apply the migrations instead.
const TABLE = `CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
  "id" VARCHAR(36) PRIMARY KEY NOT NULL,
  "checksum" VARCHAR(64) NOT NULL,
  "finished_at" TIMESTAMPTZ,
  "migration_name" VARCHAR(255) NOT NULL,
  "logs" TEXT,
  "rolled_back_at" TIMESTAMPTZ,
  "started_at" TIMESTAMPTZ NOT NULL DEFAULT now(),
  "applied_steps_count" INTEGER NOT NULL DEFAULT 0
)`;

interface Migration {
  readonly name: string;
  readonly script: string;
  readonly checksum: string;
}

/** Returns the names of a release's migrations, in their order. */
export async function readNames(folder: URL): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return names.toSorted();
}

async function readMigrations(folder: URL): Promise<readonly Migration[]> {
  const names = await readNames(folder);
  return Promise.all(
    names.map(async (name) => {
      const script = await readFile(new URL(`${name}/migration.sql`, folder), 'utf8');
      return { name, script, checksum: createHash('sha256').update(script).digest('hex') };
    }),
  );
}

/** Returns the rows of the migrations that were applied; none in a database without migrations. */
const readApplied = (runSql: RunSql): Promise<Record<string, unknown>[]> =>
  runSql(
    `SELECT "migration_name", "checksum", "finished_at", extract(epoch FROM "started_at")::text AS "time"
     FROM "_prisma_migrations" WHERE "rolled_back_at" IS NULL`,
  ).catch((error: unknown) => {
    if (codeOf(error) === UNDEFINED_TABLE) return [];
    throw error;
  });

/**
 * Returns those of a release's migrations that have not been applied. A later release may have applied more.
 * @throws MigrationError if an applied migration is incomplete, was changed, or is unknown and not from a later release
 */
async function readPending(migrations: readonly Migration[], runSql: RunSql): Promise<Migration[]> {
  const applied = await readApplied(runSql);
  const names = new Set(applied.map((row) => row['migration_name']));
  const isForeign = applied.length > 0 && !migrations.some(({ name }) => names.has(name));
  const pending = migrations.filter(({ name }) => !names.has(name));
  // A later release also contains all of these files, and applies them first.
  const last = pending.length === 0 ? migrations.at(-1)?.name : undefined;
  for (const row of applied) {
    const name = String(row['migration_name']);
    if (row['finished_at'] === null) {
      throw new MigrationError(
        `Migration ${name} was only partly applied: repair it, then restart.`,
      );
    }
    const file = migrations.find((migration) => migration.name === name);
    if (file && file.checksum !== row['checksum']) {
      throw new MigrationError(
        `Migration ${name} was changed after it was applied: restore it. In development, you can delete .data instead.`,
      );
    }
    if (!file && (last === undefined || name <= last)) {
      throw new MigrationError(
        isForeign
          ? `Another application has applied ${name} here: use a database or a schema of its own (?schema=… in DATABASE_URL).`
          : `Migration ${name} was applied, but this release does not contain it: start the release that applied it.`,
      );
    }
  }
  return pending;
}

// An administrator may have installed an extension in a schema of its own, as managed databases do.
const FIND_EXTENSIONS = `SELECT set_config('search_path', concat_ws(', ', current_setting('search_path'), (
  SELECT string_agg(DISTINCT quote_ident(nspname), ', ')
  FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
  WHERE nspname <> 'pg_catalog' AND NOT nspname = ANY (current_schemas(false)))), true)`;

/** Returns what to do if the role lacks a right, or else nothing. */
export const adviceOn = (error: unknown): string =>
  codeOf(error) === INSUFFICIENT_PRIVILEGE
    ? ' A role that does not own the tables needs MIGRATE=false and the rights in docs/operations.md.'
    : '';

async function apply(runSql: RunSql, { name, script, checksum }: Migration): Promise<void> {
  try {
    await runSql(FIND_EXTENSIONS);
    await runSql(script);
  } catch (error) {
    const { message } = toError(error);
    throw new MigrationError(`Migration ${name} failed: ${message}.${adviceOn(error)}`, {
      cause: error,
    });
  }
  await runSql(
    `INSERT INTO "_prisma_migrations"
       ("id", "checksum", "migration_name", "finished_at", "applied_steps_count")
     VALUES ($1, $2, $3, now(), 1)`,
    [randomUUID(), checksum, name],
  );
}

/**
 * Applies the next pending migration, if any, in a transaction. Returns its name if it could not lock what it changes.
 *
 * The lock makes gateways that start at the same time wait for each other. It belongs to the transaction, so it is
 * released if the process dies, and works through a pooler. The pending migrations are read after the lock is acquired,
 * because another gateway may have applied one in the meantime.
 */
async function applyNext(
  migrations: readonly Migration[],
  runSql: RunSql,
  log: Log,
): Promise<string | undefined> {
  await runSql('BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0');
  let next: Migration | undefined;
  try {
    await runSql('SELECT pg_advisory_xact_lock($1)', [LOCK_ID]);
    await runSql(TABLE);
    [next] = await readPending(migrations, runSql);
    if (next) {
      await runSql(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`);
      await apply(runSql, next);
    }
    await runSql('COMMIT');
    if (next) log.info(`Applied migration ${next.name}.`);
    return undefined;
  } catch (error) {
    // Fails if the connection is lost; the first error says why.
    await runSql('ROLLBACK').catch(() => {});
    if (next && codeOf(toError(error).cause) === LOCK_NOT_AVAILABLE) return next.name;
    throw error;
  }
}

/**
 * Applies all pending migrations, each in its own transaction.
 * @throws MigrationError
 */
export async function migrate(folder: URL, runSql: RunSql, log: Log): Promise<void> {
  const migrations = await readMigrations(folder);
  let reported: string | undefined;
  while ((await readPending(migrations, runSql)).length > 0) {
    const locked = await applyNext(migrations, runSql, log);
    if (locked === undefined) continue;
    if (locked !== reported) {
      log.warn(
        `Migration ${locked} waits until no other transaction uses its tables, and tries again every ${PAUSE_MS / 1000} seconds. pg_stat_activity has the open transactions (xact_start).`,
      );
    }
    reported = locked;
    await sleep(PAUSE_MS);
  }
}

/**
 * Checks that every migration has been applied; changes nothing.
 * @throws MigrationError
 */
export async function requireMigrated(folder: URL, runSql: RunSql): Promise<void> {
  const [next] = await readPending(await readMigrations(folder), runSql);
  if (next) {
    throw new MigrationError(`Migration ${next.name} has not been applied: run npm run migrate.`);
  }
}

/** When each migration was applied, by name. A replica has the history of its primary, another store has not. */
export type History = ReadonlyMap<unknown, unknown>;

export async function readHistory(runSql: RunSql): Promise<History> {
  const applied = await readApplied(runSql);
  const finished = applied.filter((row) => row['finished_at'] !== null);
  return new Map(finished.map((row) => [row['migration_name'], row['time']]));
}

/**
 * Requires the migrations of a primary on its replica, which may have more: those of a later release.
 * @throws Error if the replica belongs to another store, or has not replayed all of these migrations
 */
export async function requireHistory(primary: History, runSql: RunSql): Promise<void> {
  const own = await readHistory(runSql);
  for (const [name, time] of primary) {
    if (own.get(name) === time) continue;
    throw new Error(
      own.has(name)
        ? `it is not a replica of DATABASE_URL, where ${String(name)} was applied at another time`
        : `it lacks the migration ${String(name)} of DATABASE_URL`,
    );
  }
}
