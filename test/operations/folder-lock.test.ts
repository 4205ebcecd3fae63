import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { killPrograms, type Program, spawnProgram, startProgram } from '../support/program.ts';

const ROUNDS = 4;
const STARTS = 6;
const IN_USE = 'DATA_DIR is in use by another gateway: stop that one, or choose another folder.';

let folder: string;
let environment: Record<string, string>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'locked-'));
  environment = { DATA_DIR: folder, SAMPLE_STORE: 'false' };
});
afterAll(async () => {
  killPrograms();
  await rm(folder, { recursive: true, force: true });
});

const hasEnded = ({ process: { exitCode, signalCode } }: Program): boolean =>
  exitCode !== null || signalCode !== null;

/** Resolves once a gateway listens, or has ended. */
async function settle(program: Program): Promise<void> {
  while (program.url === '' && !hasEnded(program)) await sleep(20);
  if (hasEnded(program)) await program.end;
}

describe('gateways that start on one folder', { timeout: 120_000 }, () => {
  it('leave it to exactly one after a kill -9, however slow each of its steps is', async () => {
    const preload = pathToFileURL('test/support/slow-files.js').href;
    const slow = { ...environment, NODE_OPTIONS: `--import ${preload}` };
    let holder = await startProgram(environment);
    for (let round = 0; round < ROUNDS; round += 1) {
      await holder.stop('SIGKILL');
      const programs = Array.from({ length: STARTS }, () => spawnProgram('main', slow));
      await Promise.all(programs.map(settle));
      const winners = programs.filter((program) => !hasEnded(program));
      expect(winners.length).toBe(1);
      const losers = programs.filter(hasEnded).map(({ messages }) => messages);
      expect(losers).toEqual(losers.map(() => [IN_USE]));
      [holder = holder] = winners;
      expect((await fetch(`${holder.url}/ready`)).status).toBe(200);
    }
    expect(await holder.stop()).toBe(0);
  });
});

describe('the socket by which release 1.0.0 locked a folder', { timeout: 60_000 }, () => {
  it('is respected while its gateway lives, and ignored afterwards', async () => {
    const listen = `require('node:net').createServer().listen(process.argv[1], () => console.log('listening'))`;
    const older = spawn(process.execPath, ['-e', listen, join(folder, 'lock')]);
    await once(older.stdout, 'data');
    const rejected = spawnProgram('main', environment);
    expect(await rejected.end).toBe(1);
    expect(rejected.messages).toEqual([IN_USE]);
    older.kill('SIGKILL');
    await once(older, 'close');
    expect(await (await startProgram(environment)).stop()).toBe(0);
  });
});

describe('a system for which there is no native lock', () => {
  it('ends the start with a sentence that asks for DATABASE_URL', async () => {
    const preload = `data:text/javascript,Object.defineProperty(process,'arch',{value:'none'})`;
    const program = spawnProgram('main', { ...environment, NODE_OPTIONS: `--import ${preload}` });
    expect(await program.end).toBe(1);
    expect(program.messages).toEqual([
      expect.stringMatching(
        /^DATA_DIR can't be locked, as fs-native-extensions .+: set DATABASE_URL\.$/,
      ),
    ]);
  });
});
