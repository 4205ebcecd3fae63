import { readFile } from 'node:fs/promises';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { readConfig } from '../../../src/gateway/config/config.ts';
import { createLog } from '../../../src/gateway/telemetry/log.ts';
import { MIGRATIONS } from '../../../src/store/migrations.ts';
import { copyOnPostgres } from '../../support/databases.ts';
import { migratePostgres, runSql } from '../../support/postgres.ts';

const MIGRATION = '20261125100000_lists_for_people';
const SCRIPT = await readFile(new URL(`${MIGRATION}/concurrently.sql`, MIGRATIONS), 'utf8');
// The indexes of the migration. Those of later migrations may depend on its function.
const NAMES = Array.from(SCRIPT.matchAll(/IF NOT EXISTS "(\w+)"/g), ([, name]) => `'${name}'`);
const INDEXES = `select indexdef as definition, quote_ident(indexname)::regclass::oid as oid
  from pg_indexes where indexname in (${NAMES.join()}) order by 1`;

describe('the indexes of a large store', () => {
  let database: Awaited<ReturnType<typeof copyOnPostgres>>;
  let all: Record<string, unknown>[];
  const run = (sql: string) => runSql(database.url, sql);
  const migrate = () => migratePostgres(database.url, readConfig({}), createLog('error'));

  /** Runs concurrently.sql like psql, one statement at a time, with writes in between. */
  async function createBefore(): Promise<void> {
    for (const statement of SCRIPT.split(/;\n(?=\n|CREATE INDEX)/)) {
      await run(statement);
      await run(`insert into categories (name) values ('Zoé')`);
    }
  }

  beforeEach(async () => {
    database = await copyOnPostgres();
    all = await run(INDEXES);
    await run(`drop function folded cascade; drop index orders_quantity_id_idx;
      delete from _prisma_migrations where migration_name = '${MIGRATION}'`);
  });
  afterEach(() => database.drop());

  it('can be created before the migration, which then keeps them', async () => {
    expect(all).toHaveLength(NAMES.length);
    await createBefore();
    const before = await run(INDEXES);
    expect(before.map(({ definition }) => definition)).toEqual(
      all.map(({ definition }) => definition),
    );
    await migrate();
    expect(await run(INDEXES)).toEqual(before);
  });

  it('make the migration fail if they are invalid, with an error that names them', async () => {
    await createBefore();
    await run(
      `update pg_index set indisvalid = false where indexrelid = 'pets_folded_name_id_idx'::regclass`,
    );
    await expect(migrate()).rejects.toThrow(
      'these indexes are invalid: pets_folded_name_id_idx. Drop them, then migrate again.',
    );
    await run('drop index pets_folded_name_id_idx');
    await migrate();
    expect(await run(INDEXES)).toHaveLength(all.length);
  });
});
