import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ask, killPrograms, type Program, spawnProgram, startProgram } from '../support/program.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'full-disk-'));
});
afterAll(async () => {
  killPrograms();
  await rm(folder, { recursive: true, force: true });
});

const ENDED = /^The embedded PostgreSQL ended: could not .+\. Start the gateway again: .+$/;
const CREATED = 20;
const FOUND_AT_ONCE = 50;

/** Creates categories until the gateway ends; returns the ids of those that it acknowledged. */
async function createUntilEnd(program: Program, onCreated: (ids: string[]) => Promise<void>) {
  const ids: string[] = [];
  // PostgreSQL would compress what repeats.
  const create = Array.from({ length: CREATED }, (_, index) => {
    const description = randomBytes(1000).toString('hex');
    return `c${index}: createCategory(input: { name: "C", description: "${description}" }) {
      ... on Category { id } }`;
  }).join('\n');
  while (program.process.exitCode === null) {
    type Answer = Record<string, { id?: string } | null> | null;
    const answer = await ask<Answer>(program, `mutation { ${create} }`).catch(() => null);
    const created = Object.values(answer ?? {}).map((category) => category?.id);
    ids.push(...created.filter((id) => id !== undefined));
    await onCreated(ids);
  }
  return ids;
}

/** Returns those of the ids that a gateway of the folder doesn't have. */
async function findLost(environment: Record<string, string>, ids: string[]): Promise<string[]> {
  const program = await startProgram(environment);
  const lost: string[] = [];
  for (let start = 0; start < ids.length; start += FOUND_AT_ONCE) {
    const some = ids.slice(start, start + FOUND_AT_ONCE);
    const fields = some.map((id) => `c${id}: category(id: "${id}") { id }`).join('\n');
    const answer = await ask<Record<string, object | null>>(program, `{ ${fields} }`);
    lost.push(...some.filter((id) => !answer[`c${id}`]));
  }
  expect(await program.stop()).toBe(0);
  return lost;
}

describe('a write-ahead log that cannot be written', { timeout: 120_000 }, () => {
  it.each(['ENOSPC', 'EIO'])(
    'ends the gateway at once with a sentence, and loses no acknowledged write: %s',
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
        if (length === 2 * CREATED) await writeFile(fault, code);
      });
      expect(await program.end).toBe(1);
      expect(program.messages).toContainEqual(expect.stringMatching(ENDED));
      expect(ids.length).toBe(2 * CREATED);
      expect(await findLost(environment, ids)).toEqual([]);
    },
  );
});

/** Mounts a small disk, if this process may. */
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
// Less than a file of the write-ahead log takes.
const LEFT_MIB = 14;

/** Fills a disk until so much is left. */
async function fillDisk(disk: string, name: string, leftMib: number): Promise<void> {
  const { bavail, bsize } = await statfs(disk);
  await writeFile(join(disk, name), Buffer.alloc(bavail * bsize - leftMib * MIB));
}

describe('a full disk', { timeout: 120_000 }, () => {
  it('ends the gateway with a sentence, and it starts again once there is room', async (context) => {
    const disk = await mkdtemp(join(tmpdir(), 'disk-'));
    if (!mountDisk(disk, '160m')) context.skip('this process may not mount a disk');
    try {
      const environment = { DATA_DIR: join(disk, 'data'), SAMPLE_STORE: 'false' };
      const program = await startProgram(environment);
      await fillDisk(disk, 'ballast', LEFT_MIB);
      const ids = await createUntilEnd(program, async () => {});
      expect(await program.end).toBe(1);
      expect(program.messages).toContainEqual(expect.stringMatching(ENDED));
      expect(ids.length).toBeGreaterThan(0);

      await fillDisk(disk, 'more', 0);
      const second = spawnProgram('main', { ...environment, DATA_DIR: join(disk, 'new') });
      expect(await second.end).toBe(1);
      expect(second.messages).toEqual([expect.stringMatching(/^DATA_DIR.+no space left/i)]);
      const third = spawnProgram('main', environment);
      expect(await third.end).toBe(1);
      expect(third.messages).toEqual([expect.stringMatching(/^DATA_DIR.+no space left/i)]);

      await rm(join(disk, 'ballast'));
      expect(await findLost(environment, ids)).toEqual([]);
    } finally {
      killPrograms();
      execFileSync('umount', ['--lazy', disk]);
      await rm(disk, { recursive: true });
    }
  });
});
