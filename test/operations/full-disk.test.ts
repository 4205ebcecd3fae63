import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

import { prepareStore } from '../support/prepared-store.ts';
import { ask, killPrograms, type Program, spawnProgram, startProgram } from '../support/program.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'full-disk-'));
});
afterAll(async () => {
  await killPrograms();
  await rm(folder, { recursive: true, force: true });
});

/** How many categories are created before the fault. */
const CREATED = 20;
const CRASHED = /^The embedded PostgreSQL crashed: could not .+\. Restart the gateway .+$/;
/** Creates categories until the gateway ends; returns the ids that it acknowledged. */
async function createUntilEnd(program: Program, onCreated: (ids: string[]) => Promise<void>) {
  const ids: string[] = [];
  const query = 'mutation { createCategory(input: { name: "C" }) { ... on Category { id } } }';
  while (program.process.exitCode === null) {
    type Answer = { createCategory: { id: string } } | null;
    const answer = await ask<Answer>(program, query).catch(() => null);
    if (answer) ids.push(answer.createCategory.id);
    await onCreated(ids);
  }
  return ids;
}

/** Returns those ids that a gateway with this store does not have. */
async function findLost(environment: Record<string, string>, ids: string[]): Promise<string[]> {
  const program = await startProgram(environment);
  const fields = ids.map((id) => `c${id}: category(id: "${id}") { id }`).join('\n');
  const answer = await ask<Record<string, object | null>>(program, `{ ${fields} }`);
  expect(await program.stop()).toBe(0);
  return ids.filter((id) => !answer[`c${id}`]);
}

// The next describe has ENOSPC, from a real disk.
const CODES = inject('isLong') ? ['EIO', 'ENOSPC'] : ['EIO'];

describe('a write-ahead log that cannot be written', { timeout: 120_000 }, () => {
  it.each(CODES)(
    'ends the gateway with a sentence, and no acknowledged write is lost: %s',
    async (code) => {
      const fault = join(folder, `${code}.fault`);
      const environment = { DATA_DIR: join(folder, code), SAMPLE_STORE: 'false' };
      const preload = pathToFileURL('test/support/broken-wal.js').href;
      const program = await startProgram({
        ...environment,
        NODE_OPTIONS: `--import ${preload}`,
        WAL_FAULT: fault,
      });
      const ids = await createUntilEnd(program, async ({ length }) => {
        if (length === CREATED) await writeFile(fault, code);
      });
      expect(await program.end).toBe(1);
      expect(program.messages).toContainEqual(expect.stringMatching(CRASHED));
      expect(ids.length).toBe(CREATED);
      expect(await findLost(environment, ids)).toEqual([]);
    },
  );
});

/** Mounts a small disk, if this user may. */
function mountDisk(path: string, size: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}

const MIB = 2 ** 20;
// Less than the next file of the write-ahead log takes.
const LEFT_MIB = 14;

/** Creates a store in which each new category adds a megabyte to the write-ahead log. */
async function createStore(dataDir: string): Promise<void> {
  await prepareStore(
    dataDir,
    `create function amplify() returns trigger language plpgsql as $$
      begin
        perform pg_logical_emit_message(true, 'ballast', repeat('b', 1000000));
        return new;
      end $$;
    create trigger amplify after insert on categories for each row execute function amplify()`,
  );
}

/** Fills a disk until this much is left. */
async function fillDisk(disk: string, name: string, leftMib: number): Promise<void> {
  const { bavail, bsize } = await statfs(disk);
  await writeFile(join(disk, name), Buffer.alloc(bavail * bsize - leftMib * MIB));
}

describe('a full disk (only root may mount one)', { timeout: 120_000 }, () => {
  it('ends the gateway with a sentence; it starts again once there is space', async (context) => {
    const disk = await mkdtemp(join(tmpdir(), 'disk-'));
    if (!mountDisk(disk, '160m')) {
      await rm(disk, { recursive: true });
      context.skip('this user may not mount a disk');
    }
    try {
      const environment = { DATA_DIR: join(disk, 'data'), SAMPLE_STORE: 'false' };
      await createStore(environment.DATA_DIR);
      const program = await startProgram(environment);
      await fillDisk(disk, 'ballast', LEFT_MIB);
      const ids = await createUntilEnd(program, async () => {});
      expect(await program.end).toBe(1);
      expect(program.messages).toContainEqual(expect.stringMatching(CRASHED));
      expect(ids.length).toBeGreaterThan(0);

      await fillDisk(disk, 'more', 0);
      for (const folderOnDisk of ['new', 'data']) {
        const failed = spawnProgram('main', { ...environment, DATA_DIR: join(disk, folderOnDisk) });
        expect(await failed.end).toBe(1);
        expect(failed.messages).toEqual([expect.stringMatching(/^DATA_DIR.+no space left/i)]);
      }

      await rm(join(disk, 'ballast'));
      expect(await findLost(environment, ids)).toEqual([]);
    } finally {
      await killPrograms();
      execFileSync('umount', ['--lazy', disk]);
      await rm(disk, { recursive: true });
    }
  });
});
