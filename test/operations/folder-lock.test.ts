import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { lockFolder } from '../../src/database/folder-lock.ts';
import { killPrograms, spawnProgram } from '../support/program.ts';

const IN_USE = 'DATA_DIR is in use by another gateway: stop that one, or choose another folder.';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'locked-'));
});
afterAll(async () => {
  await killPrograms();
  await rm(folder, { recursive: true, force: true });
});

describe('the socket with which release 1.0.0 locked a folder', () => {
  it('keeps gateways out while its process lives, and not after that', async () => {
    const listen = `require('node:net').createServer().listen(process.argv[1], () => console.log('listening'))`;
    const older = spawn(process.execPath, ['-e', listen, join(folder, 'lock')]);
    await once(older.stdout, 'data');
    await expect(lockFolder(folder)).rejects.toThrow(IN_USE);
    older.kill('SIGKILL');
    await once(older, 'close');
    const unlock = await lockFolder(folder);
    await unlock();
  });
});

describe('a system without a native lock', () => {
  it('ends the start with a sentence that advises to set DATABASE_URL', async () => {
    const preload = `data:text/javascript,Object.defineProperty(process,'arch',{value:'none'})`;
    const program = spawnProgram('main', { DATA_DIR: folder, NODE_OPTIONS: `--import ${preload}` });
    expect(await program.end).toBe(1);
    expect(program.messages).toEqual([
      expect.stringMatching(
        /^DATA_DIR can't be locked, as fs-native-extensions .+: set DATABASE_URL\.$/,
      ),
    ]);
  });
});
