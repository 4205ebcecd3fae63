import { execFileSync, spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { freePort } from '../support/postgres.ts';

let folder: string;
let url: string;
let child: ChildProcess | undefined;
/** A file system of its own for the log, where the test may mount one. */
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

/** Starts the gateway with its standard output as given, and waits until it answers. */
async function start(stdout: number | 'pipe'): Promise<ChildProcess> {
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const stdio: StdioOptions = ['ignore', stdout, 'ignore'];
  const started = spawn(process.execPath, ['dist/main.js'], {
    env: {
      PORT: String(port),
      STOP_DELAY_MS: '0',
      DATA_DIR: join(folder, 'store'),
    },
    stdio,
  });
  child = started;
  const status = () => fetch(`${url}/health`).then((answer) => answer.status, String);
  await expect.poll(status, { timeout: 30_000 }).toBe(200);
  return started;
}

/** Makes requests that take some 500 bytes of the log each. */
async function ask(count: number): Promise<void> {
  for (let asked = 0; asked < count; asked += 1) {
    const response = await fetch(`${url}/pets/1`, { headers: { 'x-request-id': 'x'.repeat(128) } });
    expect(response.status).toBe(200);
    await response.arrayBuffer();
  }
}

/** The CPU time that a process has taken, in seconds. */
function cpuOf({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** Stops the gateway as an operator does, and gives its exit code. */
async function stop(started: ChildProcess): Promise<unknown> {
  const begin = performance.now();
  const end = once(started, 'exit');
  started.kill('SIGTERM');
  const [code] = await end;
  // Its last lines have two seconds; the rest is for a busy machine.
  expect(performance.now() - begin).toBeLessThan(10_000);
  return code;
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
      // Nobody reads it: the system takes 64 kB.
      ['a pipe whose reader stands still', () => start('pipe')],
    ])('does not matter to callers, nor to SIGTERM: %s', async (_what, startOn) => {
      const started = await startOn();
      await ask(600);
      const before = cpuOf(started);
      await sleep(1000);
      expect(cpuOf(started) - before).toBeLessThan(0.7);
      await ask(1);
      expect(await stop(started)).toBe(0);
    });

    it('is no reason to be silent about why the gateway cannot start', async () => {
      const full = openSync('/dev/full', 'w');
      const failed = spawn(process.execPath, ['dist/main.js'], {
        env: { PORT: 'none' },
        stdio: ['ignore', full, 'pipe'],
      });
      closeSync(full);
      const [[code], said] = await Promise.all([once(failed, 'exit'), failed.stderr?.toArray()]);
      expect(code).toBe(1);
      expect(String(said)).toBe('PORT has to be a whole number, 0 to 65535.\n');
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

/** A standard output that can be written at times. */
interface Output {
  readonly stdout: number | 'pipe';
  opened(started: ChildProcess): void;
  block(): void;
  unblock(): void;
  /** All that was written to it. */
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

const BATCH = 1000;
const BYTES = Buffer.from(
  `GET /none HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: ${'x'.repeat(128)}\r\n\r\n`.repeat(BATCH),
);

/** Makes a thousand requests, each of them a line, on one connection. */
async function askForLines(): Promise<void> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(BYTES);
  let answers = 0;
  for await (const data of socket.setEncoding('latin1')) {
    answers += String(data).split('HTTP/1.1 404').length - 1;
    // What is left of the last one does not matter.
    if (answers >= BATCH) break;
  }
}

describe('a standard output that can be written again', { timeout: 120_000 }, () => {
  it.each<[string, () => Output]>([
    ['a pipe', createPipe],
    ['a file on a disk that was full', createFile],
  ])('has one warning with the number of lines that are missing: %s', async (what, create) => {
    if (what !== 'a pipe' && !mounted) return;
    const output = create();
    const started = await start(output.stdout);
    output.opened(started);
    const linesOf = (level: number, msg: RegExp): Entry[] =>
      toEntries(output.text()).filter((entry) => entry.level === level && msg.test(entry.msg));
    await askForLines();
    await expect.poll(() => linesOf(30, /ended/), { timeout: 20_000 }).toHaveLength(BATCH);
    const before = toEntries(output.text()).length;
    const bytes = output.text().length;

    output.block();
    // What waits is 10 MB at most.
    const batches = Math.ceil(12_000_000 / bytes);
    for (let asked = 0; asked < batches; asked += 1) await askForLines();
    output.unblock();

    await expect.poll(() => linesOf(40, /lost/), { timeout: 30_000 }).toHaveLength(1);
    const lost = Number(/Lines lost: (\d+)\.$/.exec(linesOf(40, /lost/)[0]?.msg ?? '')?.[1]);
    expect(lost).toBeGreaterThan(0);
    expect(await stop(started)).toBe(0);
    const entries = toEntries(output.text());
    expect(entries.at(-1)?.msg).toBe('Stopping.');
    // The two are the warning and the last.
    expect(entries.length - 2 + lost).toBe(before + batches * BATCH);
  });
});
