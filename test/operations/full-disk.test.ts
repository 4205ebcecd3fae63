import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

import { CRASHED, createUntilEnd, findLost } from '../support/crashes.ts';
import { killPrograms, startProgram } from '../support/program.ts';

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

// test/long/full-disk.test.ts fills a real disk.
const CODES = inject('isLong') ? ['ENOSPC', 'EIO'] : ['ENOSPC'];

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
