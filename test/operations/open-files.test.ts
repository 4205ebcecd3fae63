import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'open-files-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Starts the gateway with so many open files, and gives its exit code and the last line of its log. */
function startWith(limit: number): Promise<{ code: unknown; msg: string; stderr: string }> {
  const command = `ulimit -n ${limit}; exec "$0" dist/main.js`;
  const env = { PORT: '0', DATA_DIR: join(folder, String(limit)) };
  return new Promise((resolve) => {
    execFile('sh', ['-c', command, process.execPath], { env }, (error, stdout, stderr) => {
      const last = stdout.trim().split('\n').at(-1) ?? '';
      const { msg } = JSON.parse(last) as { msg: string };
      resolve({ code: error?.code, msg, stderr });
    });
  });
}

describe.skipIf(process.platform === 'win32')('a limit of open files that is too low', () => {
  it.each([26, 30, 45, 64, 75, 90])('is named where the start fails: %i', async (limit) => {
    expect(await startWith(limit)).toEqual({
      code: 1,
      msg: `Too many open files: the limit is ${limit} (ulimit -n, LimitNOFILE); raise it to 1024 or more.`,
      stderr: '',
    });
  });
});
