import { readFile } from 'node:fs/promises';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createLog } from '../../../src/gateway/telemetry/log.ts';
import { MIGRATIONS } from '../../../src/store/migrations.ts';
import { describeOnDatabases, openRaw, type RawDatabase } from '../../support/databases.ts';

const MIGRATION = '20261127020000_stored_folded_names';

describeOnDatabases(() => {
  describe('the folded names that searches read', () => {
    let raw: RawDatabase;
    /** Expects each row to have its current name, folded. */
    async function expectCurrent(names: number): Promise<void> {
      const stored = await raw.run('select id, text from categories_folded_name order by id');
      expect(stored).toEqual(
        await raw.run('select id, folded(lower(name)) as text from categories order by id'),
      );
      expect(stored).toHaveLength(names);
    }

    beforeEach(async () => {
      raw = await openRaw();
      await raw.run(`insert into categories (name) values ('Zoé'), ('Өрдек'), ('Cats'), ('Dogs')`);
    });
    afterEach(() => raw.close());

    it('follow every change to the rows', async () => {
      await expectCurrent(4);
      await raw.run(`update categories set name = 'ÉLAN' where name = 'Zoé'`);
      await raw.run(`update categories set id = 1000, name = 'Birds' where name = 'Cats'`);
      await raw.run(`delete from categories where name = 'Dogs'`);
      await expectCurrent(3);
      await raw.run('truncate categories cascade');
      await expectCurrent(0);
    });

    it.each([
      ['are complete after the migration', false],
      ['can be stored before the migration, while rows are written', true],
    ])('%s', async (_what, isBefore) => {
      await raw.run(`drop table categories_folded_name, pets_folded_name;
        drop function make_searchable, fold_categories_name, fold_pets_name cascade;
        delete from _prisma_migrations where migration_name = '${MIGRATION}'`);
      const script = await readFile(new URL(`${MIGRATION}/migration.sql`, MIGRATIONS), 'utf8');
      const statements = isBefore ? script.split(/(?<=;\n)\n/) : [];
      for (const statement of statements) {
        await raw.run(statement);
        await raw.run(`insert into categories (name) values ('Жук')`);
      }
      await raw.migrate(createLog('error'));
      await expectCurrent(4 + statements.length);
    });
  });
});
