import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

import type { Log } from '../log.ts';

const FOLDER = new URL('../../prisma/migrations/', import.meta.url);
// Any number will do, as long as every gateway takes the same.
const LOCK = 7_246_531;

/** One session of the database, for migrating. */
interface Session {
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** Runs several statements. */
  script(text: string): Promise<void>;
}

/** The migrations can't be applied: the message says which and why. */
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

/** @throws MigrationError where the database was migrated by something else than these files. */
function check(migrations: Migration[], applied: Record<string, unknown>[]): void {
  for (const row of applied) {
    const name = String(row['migration_name']);
    if (row['finished_at'] === null) {
      throw new MigrationError(`Migration ${name} failed half-way: repair it, then start again.`);
    }
    const file = migrations.find((migration) => migration.name === name);
    if (!file) throw new MigrationError(`Migration ${name} was applied, but its file is missing.`);
    if (file.checksum !== row['checksum']) {
      throw new MigrationError(`Migration ${name} was changed after it was applied.`);
    }
  }
}

async function apply(session: Session, { name, script, checksum }: Migration): Promise<void> {
  await session.script('BEGIN');
  try {
    await session.script(script);
    await session.query(
      `INSERT INTO "_prisma_migrations"
         ("id", "checksum", "migration_name", "finished_at", "applied_steps_count")
       VALUES ($1, $2, $3, now(), 1)`,
      [randomUUID(), checksum, name],
    );
    await session.script('COMMIT');
  } catch (error) {
    await session.script('ROLLBACK');
    throw new MigrationError(`Migration ${name} failed.`, { cause: error });
  }
}

/**
 * Applies what is missing of prisma/migrations, each migration in a transaction of its own,
 * under a lock that makes gateways which start at once wait for each other.
 * @throws MigrationError
 */
export async function migrate(session: Session, log: Log): Promise<void> {
  const migrations = await readMigrations();
  await session.query('SELECT pg_advisory_lock($1)', [LOCK]);
  try {
    await session.script(TABLE);
    const applied = await session.query(
      `SELECT "migration_name", "checksum", "finished_at" FROM "_prisma_migrations"
       WHERE "rolled_back_at" IS NULL`,
    );
    check(migrations, applied);
    const names = new Set(applied.map((row) => row['migration_name']));
    for (const migration of migrations.filter(({ name }) => !names.has(name))) {
      await apply(session, migration);
      log.info(`Applied migration ${migration.name}.`);
    }
  } finally {
    await session.query('SELECT pg_advisory_unlock($1)', [LOCK]);
  }
}
