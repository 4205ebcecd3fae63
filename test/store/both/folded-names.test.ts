import { expect, it } from 'vitest';

import { describeOnDatabases, openRaw } from '../../support/databases.ts';

describeOnDatabases(() => {
  it('the folded names that searches read follow every change to the rows, in all spellings', async () => {
    const raw = await openRaw();
    const expectCurrent = async (names: number): Promise<void> => {
      const stored = await raw.run('select id, text from categories_folded_name order by id');
      expect(stored).toEqual(
        await raw.run(
          'select id, spellings(folded(lower(name))) as text from categories order by id',
        ),
      );
      expect(stored).toHaveLength(names);
    };
    await raw.run(`insert into categories (name) values ('Zoé'), ('Երևան'), ('Cats'), ('Dogs')`);
    await expectCurrent(4);
    await raw.run(`update categories set name = 'ԱՐԵՎ' where name = 'Zoé'`);
    await raw.run(`update categories set id = 1000, name = 'Birds' where name = 'Cats'`);
    await raw.run(`delete from categories where name = 'Dogs'`);
    await expectCurrent(3);
    await raw.run('truncate categories cascade');
    await expectCurrent(0);
    await raw.close();
  });
});
