import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { CRASHED, createUntilEnd, findLost } from '../support/crashes.ts';
import { prepareStore } from '../support/prepared-store.ts';
import { killPrograms, spawnProgram, startProgram } from '../support/program.ts';

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
      const ids = await createUntilEnd(program);
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
