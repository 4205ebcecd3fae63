import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeAll, expect, it } from 'vitest';

import { useProgramStore } from '../support/databases.ts';
import { ask, isReady, startProgram } from '../support/program.ts';

const MIB = 2 ** 20;
// Each write adds a megabyte to the tables and four to the write-ahead log.
const WRITES = 200;
const MAX_LOG_MIB = 100;
const MAX_GROWTH_MIB = 20;

const store = useProgramStore('PGlite');
beforeAll(async () => {
  await store.run(AMPLIFY);
});

// Each new category writes a megabyte, and turns the previous category's megabyte into dead rows.
const AMPLIFY = `
  create table ballast (bytes text);
  alter table ballast alter bytes set storage external;
  create function amplify() returns trigger language plpgsql as $$
    begin
      delete from ballast;
      insert into ballast select repeat('b', 8000) from generate_series(1, 128)
        where new.name = 'Large';
      perform pg_logical_emit_message(true, 'ballast', repeat('b', 3000000));
      return new;
    end $$;
  create trigger amplify after insert on categories for each row execute function amplify()`;

/** Returns the size of a folder of the store, in MiB. */
async function sizeOf(name: string): Promise<number> {
  const path = join(store.environment['DATA_DIR'] ?? '', 'pglite', name);
  const names = await readdir(path, { recursive: true });
  const sizes = await Promise.all(
    // PostgreSQL may have removed a file meanwhile.
    names.map((file) =>
      stat(join(path, file)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0) / MIB;
}

const createCategory = (gateway: { url: string }, name: string): Promise<unknown> =>
  ask(gateway, `mutation { createCategory(input: { name: "${name}" }) { __typename } }`);

/**
 * Makes all rows of the ballast dead, which triggers a VACUUM. Called repeatedly, because a VACUUM that ran before the
 * latest rows were dead could not remove them.
 */
async function deleteAll(gateway: { url: string }): Promise<void> {
  for (const name of ['Large', 'Large', 'Large', 'Small']) await createCategory(gateway, name);
}

it(
  'a gateway on PGlite that writes a lot keeps its write-ahead log and tables small, and keeps responding',
  { timeout: 300_000 },
  async () => {
    const gateway = await startProgram({ ...store.environment, SAMPLE_STORE: 'false' });
    const before = await sizeOf('base');
    for (let write = 0; write < WRITES; write += 1) {
      expect(await createCategory(gateway, 'Large')).toEqual({
        createCategory: { __typename: 'Category' },
      });
    }
    const writeAndMeasure = async (): Promise<number> => {
      await deleteAll(gateway);
      return sizeOf('base');
    };
    const within = { timeout: 120_000, interval: 200 };
    await expect.poll(() => sizeOf('pg_wal'), within).toBeLessThan(MAX_LOG_MIB);
    await expect
      .poll(writeAndMeasure, { ...within, interval: 1000 })
      .toBeLessThan(before + MAX_GROWTH_MIB);
    expect(await isReady(gateway.url)).toBe(true);
    expect(gateway.entries.filter(({ level }) => Number(level) > 30)).toEqual([]);
    expect(await gateway.stop()).toBe(0);
  },
);
