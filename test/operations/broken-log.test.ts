import { execFileSync, spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';

import { freePort } from '../support/postgres.ts';
import { V8_FLAGS } from '../support/program.ts';

let folder: string;
let url: string;
let child: ChildProcess | undefined;
/** A file system for the log alone, if the test may mount one. */
let mounted: string | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'broken-log-'));
  const point = join(folder, 'mount');
  await mkdir(point);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', point], { stdio: 'ignore' });
    mounted = point;
  } catch {
    mounted = undefined;
  }
});
afterEach(async () => {
  if (!child || child.exitCode !== null || child.signalCode) return;
  const end = once(child, 'exit');
  child.kill('SIGKILL');
  await end;
});
afterAll(async () => {
  if (mounted) execFileSync('umount', [mounted]);
  await rm(folder, { recursive: true, force: true });
});

/** Starts the gateway with the given standard output, and waits until it responds. */
async function start(stdout: number | 'pipe'): Promise<ChildProcess> {
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const stdio: StdioOptions = ['ignore', stdout, 'ignore'];
  const started = spawn(process.execPath, [...V8_FLAGS, 'dist/main.js'], {
    env: {
      PORT: String(port),
      STOP_DELAY_MS: '0',
      DATA_DIR: join(folder, 'store'),
    },
    stdio,
  });
  child = started;
  const status = () => fetch(`${url}/health`).then((response) => response.status, String);
  await expect.poll(status, { timeout: 30_000 }).toBe(200);
  return started;
}

const BATCH = 1000;
const REQUESTS = Buffer.from(
  `GET /none HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: ${'x'.repeat(128)}\r\n\r\n`.repeat(BATCH),
);

/** Sends a thousand requests on one connection, each of which logs a line of some 300 bytes. */
async function logBatch(): Promise<void> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(REQUESTS);
  let responses = 0;
  for await (const data of socket.setEncoding('latin1')) {
    responses += String(data).split('HTTP/1.1 404').length - 1;
    // The rest of the last response does not matter.
    if (responses >= BATCH) break;
  }
  expect(responses).toBe(BATCH);
}

/** Returns the CPU time that a process has used, in seconds. */
function cpuOf({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** Stops the gateway as an operator does, and returns its exit code. */
async function stop(started: ChildProcess): Promise<unknown> {
  const begin = performance.now();
  const end = once(started, 'exit');
  started.kill('SIGTERM');
  const [code] = await end;
  // The log is flushed for two seconds at most; the rest is for a busy machine.
  expect(performance.now() - begin).toBeLessThan(10_000);
  return code;
}

/** Expects that a gateway whose log can't be written serves callers, uses little CPU time, and stops. */
async function expectUndisturbed(started: ChildProcess): Promise<void> {
  await logBatch();
  const before = cpuOf(started);
  await sleep(1000);
  expect(cpuOf(started) - before).toBeLessThan(0.7);
  expect((await fetch(`${url}/pets/1`)).status).toBe(200);
  expect(await stop(started)).toBe(0);
}

describe.skipIf(process.platform !== 'linux')(
  'a standard output that cannot be written',
  { timeout: 60_000 },
  () => {
    it.each<[string, () => Promise<ChildProcess>]>([
      [
        'a full disk',
        async () => {
          const full = openSync('/dev/full', 'w');
          const started = await start(full);
          closeSync(full);
          return started;
        },
      ],
      [
        'a pipe that its reader has closed',
        async () => {
          const started = await start('pipe');
          started.stdout?.destroy();
          return started;
        },
      ],
    ])('disturbs neither callers nor SIGTERM: %s', async (_what, startOn) => {
      await expectUndisturbed(await startOn());
    });

    it('moves the reason of a failed start to standard error', async () => {
      const full = openSync('/dev/full', 'w');
      const failed = spawn(process.execPath, ['dist/main.js'], {
        env: { PORT: 'none' },
        stdio: ['ignore', full, 'pipe'],
      });
      closeSync(full);
      const [[code], reason] = await Promise.all([once(failed, 'close'), failed.stderr?.toArray()]);
      expect(code).toBe(1);
      expect(String(reason)).toBe('PORT must be a whole number, 0 to 65535.\n');
    });
  },
);

interface Entry {
  readonly level: number;
  readonly msg: string;
}

const toEntries = (text: string): Entry[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Entry);

/** A standard output that the test blocks for a while. */
interface Output {
  readonly stdout: number | 'pipe';
  opened(started: ChildProcess): void;
  block(): void;
  unblock(): void;
  /** Everything that was written to it. */
  text(): string;
}

function createPipe(): Output {
  let pipe: ChildProcess['stdout'] = null;
  let text = '';
  return {
    stdout: 'pipe',
    opened: (started) => {
      pipe = started.stdout;
      pipe?.setEncoding('utf8').on('data', (data: string) => {
        text += data;
      });
    },
    block: () => void pipe?.pause(),
    unblock: () => void pipe?.resume(),
    text: () => text,
  };
}

function createFile(): Output {
  const path = join(mounted ?? folder, 'log');
  const ballast = join(mounted ?? folder, 'ballast');
  const stdout = openSync(path, 'a');
  return {
    stdout,
    opened: () => closeSync(stdout),
    block: () => {
      const { bavail, bsize } = statfsSync(mounted ?? folder);
      writeFileSync(ballast, Buffer.alloc(bavail * bsize));
    },
    unblock: () => rmSync(ballast),
    text: () => readFileSync(path, 'utf8'),
  };
}

const PIPE: [string, () => Output] = ['a pipe', createPipe];
const FILE: [string, () => Output] = ['a file on a disk that was full', createFile];

describe.skipIf(process.platform !== 'linux').each(inject('isLong') ? [PIPE, FILE] : [PIPE])(
  'a standard output that can be written again: %s',
  { timeout: 120_000 },
  (what, create) => {
    it('gets one warning with the number of lost lines; blocked again, it disturbs neither callers nor SIGTERM', async (context) => {
      if (what !== 'a pipe' && !mounted) context.skip('this user may not mount a disk');
      const output = create();
      const started = await start(output.stdout);
      output.opened(started);
      const linesOf = (level: number, msg: RegExp): Entry[] =>
        toEntries(output.text()).filter((entry) => entry.level === level && msg.test(entry.msg));
      await logBatch();
      await expect.poll(() => linesOf(30, /ended/), { timeout: 20_000 }).toHaveLength(BATCH);
      const before = toEntries(output.text()).length;
      const bytes = output.text().length;

      output.block();
      // At most 10 MB wait to be written.
      const batches = Math.ceil(11_000_000 / bytes);
      for (let batch = 0; batch < batches; batch += 1) await logBatch();
      output.unblock();

      await expect.poll(() => linesOf(40, /lost/), { timeout: 30_000 }).toHaveLength(1);
      const lost = Number(/Lines lost: (\d+)\.$/.exec(linesOf(40, /lost/)[0]?.msg ?? '')?.[1]);
      expect(lost).toBeGreaterThan(0);
      const entries = toEntries(output.text());
      expect(entries.at(-1)?.level).toBe(40);
      // The other is the warning.
      expect(entries.length - 1 + lost).toBe(before + batches * BATCH);
      await logBatch();
      const all = entries.length + BATCH;
      await expect.poll(() => toEntries(output.text()), { timeout: 20_000 }).toHaveLength(all);

      output.block();
      await expectUndisturbed(started);
    });
  },
);
