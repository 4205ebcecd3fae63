import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { makeProgramStoreOnPostgres, type ProgramStore } from '../../support/databases.ts';
import { holdLock, runSql } from '../../support/postgres.ts';
import { ask, killPrograms, spawnProgram, startProgram } from '../../support/program.ts';

let store: ProgramStore;
beforeEach(async () => {
  store = await makeProgramStoreOnPostgres();
});
afterEach(async () => {
  await killPrograms();
  await store.remove();
});

describe('a start that loses its connection', () => {
  it('logs the reason in one sentence, and exits with code 1', async () => {
    const url = store.environment['DATABASE_URL'] ?? '';
    const unlock = await holdLock(url, 'lock table _prisma_migrations in access exclusive mode');
    const program = spawnProgram('main', store.environment);
    const endWaiting = `select pg_terminate_backend(pid) as ended from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    await expect
      .poll(async () => (await runSql(url, endWaiting)).length, { timeout: 30_000 })
      .toBe(1);
    expect(await program.end).toBe(1);
    expect(program.entries.at(-1)).toMatchObject({
      level: 50,
      msg: expect.stringMatching(/^DATABASE_URL: .+\.$/),
    });
    expect(program.entries.at(-1)).not.toHaveProperty('err');
    await unlock();
  });
});

describe('a store that was emptied', () => {
  it('stays empty after the next start', async () => {
    await store.run(`insert into categories (name) values ('Cats');
      truncate orders, inventory_items, pets, categories`);
    const program = await startProgram({ ...store.environment, SAMPLE_STORE: 'true' });
    expect(program.messages).not.toContain('Filled the sample store.');
    expect(await ask(program, '{ categories { totalCount } }')).toEqual({
      categories: { totalCount: 0 },
    });
  });
});
