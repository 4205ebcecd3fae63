import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { TABLES } from '../../../src/store/generated/tables.ts';
import { petStore } from '../../../src/store/index.ts';
import { describeOnDatabases, openRaw, type RawDatabase } from '../../support/databases.ts';

const FOLDER = new URL('../../../prisma/migrations/', import.meta.url);
const NAME = '20261121000000_pet_store';

/** Returns rows as JSON with single spaces, because some migrations indent the same function differently. */
const plain = (rows: unknown): string => JSON.stringify(rows).replaceAll(/(\\n| )+/g, ' ');

describeOnDatabases(() => {
  describe('the migrations', () => {
    let database: RawDatabase;
    beforeAll(async () => {
      database = await openRaw();
      await database.run(
        'create schema kept; create table kept.migrations as table _prisma_migrations',
      );
    });
    afterAll(async () => {
      await database.run('drop schema kept cascade');
      await database.close();
    });

    const empty = () => database.run('drop schema public cascade; create schema public');
    // Restoring a copy is ten times as fast as migrating again.
    beforeEach(async () => {
      await database.run(
        'truncate _prisma_migrations; insert into _prisma_migrations table kept.migrations',
      );
    });

    const migrations = () => database.run('select * from _prisma_migrations');

    it('are recorded as Prisma would record them', async () => {
      await empty();
      await database.migrate();
      const files = (await readdir(FOLDER)).filter((name) => /^\d{14}_/.test(name)).toSorted();
      const rows = await migrations();
      expect(rows.map((row) => String(row['migration_name'])).toSorted()).toEqual(files);
      for (const row of rows) {
        const file = await readFile(
          new URL(`${String(row['migration_name'])}/migration.sql`, FOLDER),
        );
        expect(row).toMatchObject({
          id: expect.stringMatching(/^[0-9a-f-]{36}$/),
          checksum: createHash('sha256').update(file).digest('hex'),
          finished_at: expect.any(Date),
          started_at: expect.any(Date),
          rolled_back_at: null,
          logs: null,
          applied_steps_count: 1,
        });
      }
    });

    it('are applied only once', async () => {
      const before = await migrations();
      expect(await database.migrate()).toEqual([]);
      expect(await migrations()).toEqual(before);
    });

    it('change nothing if one migration fails, and can be repeated', async () => {
      await empty();
      await database.run('create table pets ()');
      await expect(database.migrate()).rejects.toThrow(
        `Migration ${NAME} failed: relation "pets" already exists.`,
      );
      expect(await database.run(`select to_regclass('categories') as name`)).toEqual([
        { name: null },
      ]);
      await database.run('drop table pets');
      await database.migrate();
      const applied = await database.run('select from kept.migrations');
      expect(await migrations()).toHaveLength(applied.length);
    });

    it.each([
      [
        'migration was changed after it was applied',
        `update _prisma_migrations set checksum = 'x' where migration_name = '${NAME}'`,
        NAME,
      ],
      [
        "applied migration has no file and is not later than this release's migrations",
        `insert into _prisma_migrations (id, checksum, migration_name, finished_at)
       values ('x', 'x', '20261121000000_other', now())`,
        '20261121000000_other',
      ],
      [
        'applied migration has no file, and a migration of this release is not applied yet',
        `insert into _prisma_migrations (id, checksum, migration_name, finished_at)
       values ('x', 'x', '20991231000000_future', now());
       delete from _prisma_migrations where migration_name <> '20991231000000_future'`,
        '20991231000000_future',
      ],
      [
        'unfinished migration has no file',
        `insert into _prisma_migrations (id, checksum, migration_name)
       values ('x', 'x', '20991231000000_future')`,
        '20991231000000_future',
      ],
    ])('are rejected if one %s', async (_what, sql, name) => {
      await database.run(sql);
      await expect(database.migrate()).rejects.toThrow(name);
    });

    it('are not applied where another application keeps its migrations', async () => {
      await database.run(
        `delete from _prisma_migrations; insert into _prisma_migrations (id, checksum, migration_name, finished_at)
         values ('x', 'x', '20200101000000_init', now())`,
      );
      await expect(database.migrate()).rejects.toThrow(
        'Another application has applied 20200101000000_init here: use a database or a schema of its own (?schema=… in DATABASE_URL).',
      );
    });

    it.each([
      ["Prisma's record of a migration that was rolled back", 'rolled_back_at', NAME],
      ['those of a later release', 'finished_at', '20991231000000_later'],
    ])('ignore %s', async (_what, column, name) => {
      await database.run(
        `insert into _prisma_migrations (id, checksum, migration_name, ${column})
       values ('x', 'x', '${name}', now())`,
      );
      expect(await database.migrate()).toEqual([]);
    });
  });

  describe('the tables of the database', () => {
    let database: RawDatabase;
    beforeAll(async () => {
      database = await openRaw();
      await database.run(`
      insert into categories (name) values ('Fish');
      insert into pets (name, category_id) values ('Nemo', 1);
      insert into inventory_items values (1, 0);
      insert into orders (pet_id, quantity) values (1, 1)`);
    });
    afterAll(() => database.close());

    const recorded = Object.values(TABLES).filter(({ type }) => petStore.repositories.has(type));

    it('have the function and triggers that record_changes_of creates, for each type whose changes are recorded', async () => {
      const read = () =>
        database.run(`
          select proname, pg_get_functiondef(pg_proc.oid), proacl::text,
            array(select pg_get_triggerdef(oid) from pg_trigger where tgfoid = pg_proc.oid order by 1)
          from pg_proc where proname in (${recorded.map(({ name }) => `'record_${name}'`).join(', ')})
          order by 1`);
      const before = await read();
      expect(before.map((row) => row['proname'])).toEqual(
        recorded.map(({ name }) => `record_${name}`).toSorted(),
      );
      for (const { type, name, id, columns } of recorded) {
        const column = Object.entries(columns).find(([field]) => field === id)?.[1].ownColumn;
        await database.run(`select record_changes_of('${name}', '${type}', '${column}')`);
      }
      const after = await read();
      expect(plain(after)).toBe(plain(before));
    });

    it('have text indexes in code point order', async () => {
      const names = recorded.map(({ name }) => `'${name}'::regclass`).join(', ');
      const wrong = await database.run(`
        select indexrelid::regclass::text as index
        from pg_index join pg_class on pg_class.oid = indexrelid join pg_am on pg_am.oid = relam
        where indrelid in (${names}) and amname = 'btree' and exists (
          select from unnest(indcollation) as key (id)
          where id <> 0 and id <> '"C"'::regcollation)`);
      expect(wrong, 'add COLLATE "C" to these indexes in their migration').toEqual([]);
    });

    it.each([
      ['a negative stock', 'update inventory_items set quantity = -1'],
      ['an order of 0 units', 'update orders set quantity = 0'],
      ['a pet with a blank name', `update pets set name = '  '`],
      ['a category with a blank name', `update categories set name = ''`],
    ])('reject %s', async (_what, sql) => {
      await expect(database.run(sql)).rejects.toThrow('violates check constraint');
    });
  });
});
