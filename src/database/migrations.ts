import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

import type { Log } from '../telemetry/log.ts';
import { ROOT } from '../config/root.ts';

const FOLDER = new URL('prisma/migrations/', ROOT);
// Any number will do, as long as every gateway takes the same.
const LOCK = 7_246_531;

/** One session of the database, for migrating. */
export interface SqlConnection {
  readonly query: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;
  /** Runs several statements. */
  readonly script: (text: string) => Promise<void>;
}

/** The migrations can't be applied, or have to be first: the message says which and why. */
export class MigrationError extends Error {}

// The table of Prisma Migrate, so that `prisma migrate deploy` and this agree on what was applied.
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

async function readMigrations(): Promise<Migration[]> {
  const entries = await readdir(FOLDER, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return Promise.all(
    names.toSorted().map(async (name) => {
      const script = await readFile(new URL(`${name}/migration.sql`, FOLDER), 'utf8');
      return { name, script, checksum: createHash('sha256').update(script).digest('hex') };
    }),
  );
}

async function readApplied({ query }: SqlConnection): Promise<Record<string, unknown>[]> {
  const [table] = await query(`SELECT to_regclass('_prisma_migrations') IS NOT NULL AS "exists"`);
  if (!table?.['exists']) return [];
  return query(
    `SELECT "migration_name", "checksum", "finished_at" FROM "_prisma_migrations"
     WHERE "rolled_back_at" IS NULL`,
  );
}

interface State {
  /** Those that were not applied yet. */
  readonly pending: readonly Migration[];
  /** The names of those that a later release applied. */
  readonly newer: readonly string[];
}

/**
 * Compares what was applied with the files.
 * @throws MigrationError where the database was migrated by something else than these files, or
 * those of a later release.
 */
async function readState(connection: SqlConnection): Promise<State> {
  const migrations = await readMigrations();
  const applied = await readApplied(connection);
  const names = new Set(applied.map((row) => row['migration_name']));
  const pending = migrations.filter(({ name }) => !names.has(name));
  // A later release comes with all of these files, and applied them first.
  const last = pending.length === 0 ? migrations.at(-1)?.name : undefined;
  const newer = [];
  for (const row of applied) {
    const name = String(row['migration_name']);
    if (row['finished_at'] === null) {
      throw new MigrationError(`Migration ${name} failed half-way: repair it, then start again.`);
    }
    const file = migrations.find((migration) => migration.name === name);
    if (file && file.checksum !== row['checksum']) {
      throw new MigrationError(`Migration ${name} was changed after it was applied.`);
    }
    if (file) continue;
    if (last === undefined || name <= last) {
      throw new MigrationError(`Migration ${name} was applied, but its file is missing.`);
    }
    newer.push(name);
  }
  return { pending, newer };
}

async function apply(
  connection: SqlConnection,
  { name, script, checksum }: Migration,
): Promise<void> {
  try {
    await connection.script(script);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new MigrationError(`Migration ${name} failed: ${reason}.`, { cause: error });
  }
  await connection.query(
    `INSERT INTO "_prisma_migrations"
       ("id", "checksum", "migration_name", "finished_at", "applied_steps_count")
     VALUES ($1, $2, $3, now(), 1)`,
    [randomUUID(), checksum, name],
  );
}

/**
 * Applies the next migration, if there still is one, in a transaction.
 *
 * The lock makes gateways that start at once wait for each other. It belongs to the transaction,
 * so that it can't outlive a process that dies and holds through a pooler too. Whoever gets it
 * looks again: what was pending may have been applied while it waited.
 */
async function applyNext(connection: SqlConnection, log: Log): Promise<void> {
  await connection.script('BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0');
  try {
    await connection.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
    await connection.script(TABLE);
    const [next] = (await readState(connection)).pending;
    if (next) await apply(connection, next);
    await connection.script('COMMIT');
    if (next) log.info(`Applied migration ${next.name}.`);
  } catch (error) {
    await connection.script('ROLLBACK');
    throw error;
  }
}

/**
 * Applies what is missing of prisma/migrations, each migration in a transaction of its own.
 * @throws MigrationError
 */
export async function migrate(connection: SqlConnection, log: Log): Promise<void> {
  while ((await readState(connection)).pending.length > 0) await applyNext(connection, log);
}

/**
 * Changes nothing, only makes sure that every migration was applied.
 * @throws MigrationError
 */
export async function expectMigrated(connection: SqlConnection): Promise<void> {
  const [next] = (await readState(connection)).pending;
  if (next) {
    throw new MigrationError(`Migration ${next.name} was not applied: run npm run migrate.`);
  }
}

/** Warns where a later release migrated the database: that release promises that this one still works. */
export async function adviseNewer(connection: SqlConnection, log: Log): Promise<void> {
  const { newer } = await readState(connection);
  if (newer.length > 0) {
    log.warn(`A later release of the gateway migrated the database: ${newer.join(', ')}.`);
  }
}
