import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { isReady, killPrograms, spawnProgram, startProgram } from '../support/program.ts';

const ROUNDS = 5;
const STARTS = 8;
const SLOW_MS = 2000;
const IN_USE = 'DATA_DIR is in use by another gateway: stop that one, or choose another folder.';

let folder: string;
let environment: Record<string, string>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'locked-'));
  environment = { DATA_DIR: folder, SAMPLE_STORE: 'false' };
});
afterAll(async () => {
  await killPrograms();
  await rm(folder, { recursive: true, force: true });
});

describe('gateways that start at once on one folder', { timeout: 180_000 }, () => {
  it('leave it to exactly one after a kill, however slow each of their steps is', async () => {
    const preload = pathToFileURL('test/support/slow-files.js').href;
    const slow = {
      ...environment,
      NODE_OPTIONS: `--import ${preload}`,
      SLOW_MS: String(SLOW_MS),
    };
    let holder = await startProgram(environment);
    for (let round = 0; round < ROUNDS; round += 1) {
      await holder.stop('SIGKILL');
      const programs = Array.from({ length: STARTS }, () => spawnProgram('main', slow));
      const winners: typeof programs = [];
      const losers: string[][] = [];
      await Promise.all(
        programs.map(async (program) => {
          const isListening = await program.logged(/^Listening/).then(
            () => true,
            () => false,
          );
          if (isListening) winners.push(program);
          else losers.push(program.messages);
        }),
      );
      expect(winners).toHaveLength(1);
      expect(losers).toEqual(losers.map(() => [IN_USE]));
      [holder = holder] = winners;
      expect(await isReady(holder.url)).toBe(true);
    }
    expect(await holder.stop()).toBe(0);
  });
});
