import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

import { V8_FLAGS } from '../support/program.ts';

// With the first the program cannot load its modules, with the others PostgreSQL cannot start.
const LIMITS = inject('isLong') ? [29, 30, 37, 45, 64, 75, 90, 110] : [29, 90];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'open-files-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Starts the gateway with a limit of open files; returns its exit code and the end of its output. */
function startWith(limit: number): Promise<{ code: unknown; msg: string; stderr: string }> {
  const command = `ulimit -n ${limit}; exec "$0" ${V8_FLAGS.join(' ')} dist/main.js`;
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
  it.each(LIMITS)('ends the start with a sentence that names the limit: %i', async (limit) => {
    expect(await startWith(limit)).toEqual({
      code: 1,
      msg: `Too many open files: the limit is ${limit} (ulimit -n, LimitNOFILE); raise it to 1024 or more.`,
      stderr: '',
    });
  });
});
