import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { makeProgramStore, type ProgramStore } from '../support/databases.ts';
import { ask, killPrograms, startProgram } from '../support/program.ts';

const MIB = 2 ** 20;
const WRITES = 160;

let store: ProgramStore;
beforeAll(async () => {
  store = await makeProgramStore();
});
afterAll(async () => {
  killPrograms();
  await store.remove();
});

// Each category that is created writes a megabyte, and makes the one before it dead rows.
const AMPLIFY = `
  create table ballast (bytes text);
  alter table ballast alter bytes set storage external;
  create function amplify() returns trigger language plpgsql as $$
    begin
      delete from ballast;
      insert into ballast select repeat('b', 8000) from generate_series(1, 128)
        where new.name = 'Large';
      return new;
    end $$;
  create trigger amplify after insert on categories for each row execute function amplify()`;

/** The size of the files in a folder of the store, in MiB. */
async function sizeOf(folder: string): Promise<number> {
  const path = join(store.environment['DATA_DIR'] ?? '', 'pglite', folder);
  const names = await readdir(path, { recursive: true });
  const sizes = await Promise.all(
    // A file may be gone by now.
    names.map((name) =>
      stat(join(path, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0) / MIB;
}

const createCategory = (gateway: { url: string }, name: string): Promise<unknown> =>
  ask(gateway, `mutation { createCategory(input: { name: "${name}" }) { __typename } }`);

describe('a gateway that writes much', { timeout: 180_000 }, () => {
  it('keeps its write-ahead log and its tables small, while it answers', async () => {
    const environment = { ...store.environment, SAMPLE_STORE: 'false' };
    expect(await (await startProgram(environment)).stop()).toBe(0);
    await store.run(AMPLIFY);
    const gateway = await startProgram(environment);
    const before = await sizeOf('base');
    for (let write = 0; write < WRITES; write += 1) {
      expect(await createCategory(gateway, 'Large')).toEqual({
        createCategory: { __typename: 'Category' },
      });
    }
    await createCategory(gateway, 'Small');
    const within = { timeout: 60_000, interval: 100 };
    await expect.poll(() => sizeOf('pg_wal'), within).toBeLessThan(100);
    await expect.poll(() => sizeOf('base'), within).toBeLessThan(before + 20);
    expect((await fetch(`${gateway.url}/ready`)).status).toBe(200);
    expect(gateway.entries.filter(({ level }) => Number(level) > 30)).toEqual([]);
    expect(await gateway.stop()).toBe(0);
  });
});
