import { readFile } from 'node:fs/promises';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { petStore } from '../../../src/store/index.ts';
import { describeOnDatabases, openRaw, type RawDatabase } from '../../support/databases.ts';

const MIGRATION = '20261127020000_stored_folded_names';
const SPELLINGS = '20261129000000_armenian_ligature';

const readScript = (migration: string): Promise<string> =>
  readFile(new URL(`${migration}/migration.sql`, petStore.migrations), 'utf8');

const toStatements = (script: string): string[] => script.split(/(?<=;\n)\n/);

describeOnDatabases(() => {
  describe('the folded names that searches read', () => {
    let raw: RawDatabase;
    /** Expects each row to have its current name, folded, in all spellings. */
    async function expectCurrent(names: number): Promise<void> {
      const stored = await raw.run('select id, text from categories_folded_name order by id');
      expect(stored).toEqual(
        await raw.run(
          'select id, spellings(folded(lower(name))) as text from categories order by id',
        ),
      );
      expect(stored).toHaveLength(names);
    }

    beforeEach(async () => {
      raw = await openRaw();
      await raw.run(`insert into categories (name) values ('Zoé'), ('Երևան'), ('Cats'), ('Dogs')`);
    });
    afterEach(() => raw.close());

    it('follow every change to the rows', async () => {
      await expectCurrent(4);
      await raw.run(`update categories set name = 'ԱՐԵՎ' where name = 'Zoé'`);
      await raw.run(`update categories set id = 1000, name = 'Birds' where name = 'Cats'`);
      await raw.run(`delete from categories where name = 'Dogs'`);
      await expectCurrent(3);
      await raw.run('truncate categories cascade');
      await expectCurrent(0);
    });

    it.each([
      ['have all spellings after the migration', false],
      ['can get all spellings before the migration, while rows are written', true],
    ])('%s', async (_what, isBefore) => {
      await raw.run('truncate categories cascade');
      // As the last release left them.
      await raw.run(await readScript(MIGRATION));
      await raw.run(`delete from _prisma_migrations where migration_name = '${SPELLINGS}';
        drop function spellings;
        insert into categories (name) values ('Cats'), ('Երևան'), ('ԵՐԵՎԱՆ'), ('ԵՐԵՒԱՆ')`);
      const statements = isBefore ? toStatements(await readScript(SPELLINGS)) : [];
      for (const statement of statements) {
        await raw.run(statement);
        await raw.run(`insert into categories (name) values ('Սևան');
          update categories set name = 'Արև' where name = 'ԵՐԵՒԱՆ'`);
      }
      await raw.migrate();
      await expectCurrent(4 + statements.length);
    });
  });
});
