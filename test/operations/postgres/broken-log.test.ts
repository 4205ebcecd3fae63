import { type ChildProcess, execFileSync } from 'node:child_process';
import {
  closeSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statfsSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';

import { makeProgramStoreOnPostgres, type ProgramStore } from '../../support/databases.ts';
import { freePort } from '../../support/postgres.ts';
import {
  isReady,
  killPrograms,
  type LogEntry,
  type Program,
  spawnProgram,
  startProgram,
} from '../../support/program.ts';

// The log is the same on both databases; on PostgreSQL programs start sooner.
let store: ProgramStore;
let folder: string;
/** A file system for the log alone, if the test may mount one. */
let mounted: string | undefined;

beforeAll(async () => {
  store = await makeProgramStoreOnPostgres();
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
afterEach(killPrograms);
afterAll(async () => {
  if (mounted) execFileSync('umount', [mounted]);
  await rm(folder, { recursive: true, force: true });
  await store.remove();
});

const BATCH = 1000;
const REQUESTS = Buffer.from(`GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(BATCH));

/** Sends a thousand requests on one connection, each of which logs a line. */
async function logRequests(url: string): Promise<void> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(REQUESTS);
  let text = '';
  const countResponses = (): number => text.split('HTTP/1.1 404').length - 1;
  for await (const data of socket.setEncoding('latin1')) {
    text += String(data);
    // The rest of the last response does not matter.
    if (countResponses() >= BATCH) break;
  }
  expect(countResponses()).toBe(BATCH);
}

/** Returns the CPU time that a process has used, in seconds. */
function cpuOf({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** Stops the gateway as an operator does, and returns its exit code. */
async function stop(program: Program): Promise<unknown> {
  const begin = performance.now();
  const code = await program.stop();
  // The log is flushed for two seconds at most; the rest is for a busy machine.
  expect(performance.now() - begin).toBeLessThan(10_000);
  return code;
}

/** Expects that a gateway whose log can't be written serves callers, uses little CPU time, and stops. */
async function expectUndisturbed(program: Program, url: string): Promise<void> {
  await logRequests(url);
  const before = cpuOf(program.process);
  await sleep(1000);
  expect(cpuOf(program.process) - before).toBeLessThan(0.7);
  expect((await fetch(`${url}/store/orders`)).status).toBe(200);
  expect(await stop(program)).toBe(0);
}

type Started = [program: Program, url: string];

async function startOnFullDisk(): Promise<Started> {
  const port = String(await freePort());
  const file = openSync('/dev/full', 'w');
  const program = spawnProgram('main', { ...store.environment, PORT: port }, { file });
  closeSync(file);
  const url = `http://127.0.0.1:${port}`;
  await expect.poll(() => isReady(url), { timeout: 30_000 }).toBe(true);
  return [program, url];
}

async function startOnClosedPipe(): Promise<Started> {
  const program = await startProgram(store.environment);
  program.process.stdout?.destroy();
  return [program, program.url];
}

const FULL_DISK: [string, () => Promise<Started>] = ['a full disk', startOnFullDisk];
const CLOSED_PIPE: typeof FULL_DISK = ['a pipe that its reader has closed', startOnClosedPipe];

describe.skipIf(process.platform !== 'linux')(
  'a standard output that cannot be written',
  { timeout: 60_000 },
  () => {
    it.each(inject('isLong') ? [FULL_DISK, CLOSED_PIPE] : [FULL_DISK])(
      'disturbs neither callers nor SIGTERM: %s',
      async (_what, startOn) => {
        await expectUndisturbed(...(await startOn()));
      },
    );

    it('moves the reason of a failed start to standard error', async () => {
      const file = openSync('/dev/full', 'w');
      const failed = spawnProgram('main', { PORT: 'none' }, { file });
      closeSync(file);
      expect(await failed.end).toBe(1);
      expect(failed.messages).toEqual(['PORT must be a whole number, 0 to 65535.']);
    });
  },
);

const LOGGED = 'logged';
/** On SIGUSR2, logs a thousand errors of more than a kilobyte each, which takes less time than requests. */
const LOG_ERRORS = `
  process.on('SIGUSR2', () => {
    for (let count = 0; count < ${BATCH}; count += 1) Promise.reject(new Error('x'.repeat(500)));
    setImmediate(() => process.stderr.write('${LOGGED}\\n'));
  });`;
// More than the 10 MB that wait to be written.
const BATCHES = 11;

async function logErrors({ process, messages }: Program): Promise<void> {
  const countLogged = (): number => messages.filter((message) => message === LOGGED).length;
  const before = countLogged();
  process.kill('SIGUSR2');
  await expect.poll(countLogged, { interval: 10 }).toBe(before + 1);
}

/** A gateway whose standard output the test blocks for a while. */
interface Blockable {
  readonly program: Program;
  readonly block: () => void;
  readonly unblock: () => void;
}

const isRequest = ({ msg }: LogEntry): boolean => msg === 'A request ended.';

const start = (output?: Parameters<typeof startProgram>[1]): Promise<Program> => {
  const preload = `--import "data:text/javascript,${encodeURIComponent(LOG_ERRORS)}"`;
  return startProgram({ ...store.environment, NODE_OPTIONS: preload }, output);
};

async function startOnPipe(): Promise<Blockable> {
  const program = await start();
  return {
    program,
    block: () => void program.process.stdout?.pause(),
    unblock: () => void program.process.stdout?.resume(),
  };
}

/** Streams what is appended to a file. */
function follow(path: string): { text: Readable; close: () => void } {
  const file = openSync(path, 'r');
  const text = new PassThrough();
  const buffer = Buffer.alloc(2 ** 20);
  const watcher = watch(path, () => {
    for (let bytes = readSync(file, buffer); bytes > 0; bytes = readSync(file, buffer)) {
      text.write(Buffer.from(buffer.subarray(0, bytes)));
    }
  });
  const close = (): void => {
    watcher.close();
    closeSync(file);
  };
  return { text, close };
}

async function startOnFile(): Promise<Blockable> {
  const disk = mounted ?? folder;
  const path = join(disk, 'log');
  const ballast = join(disk, 'ballast');
  const file = openSync(path, 'a');
  const { text, close } = follow(path);
  const program = await start({ file, text });
  closeSync(file);
  void program.end.then(close);
  return {
    program,
    block: () => {
      const { bavail, bsize } = statfsSync(disk);
      writeFileSync(ballast, Buffer.alloc(bavail * bsize));
    },
    unblock: () => rmSync(ballast),
  };
}

const PIPE: [string, () => Promise<Blockable>] = ['a pipe', startOnPipe];
const FILE: typeof PIPE = ['a file on a disk that was full', startOnFile];

describe.skipIf(process.platform !== 'linux').each(inject('isLong') ? [PIPE, FILE] : [PIPE])(
  'a standard output that can be written again: %s',
  { timeout: 120_000 },
  (what, startOn) => {
    it('gets one warning with the number of lost lines; blocked again, it disturbs neither callers nor SIGTERM', async (context) => {
      if (what !== 'a pipe' && !mounted) context.skip('this user may not mount a disk');
      const { program, block, unblock } = await startOn();
      const { entries } = program;
      const countRequests = (): number => entries.filter(isRequest).length;
      await logRequests(program.url);
      await expect.poll(countRequests).toBe(BATCH);
      const before = entries.length;

      block();
      for (let batch = 0; batch < BATCHES; batch += 1) await logErrors(program);
      unblock();

      const warning = await program.logged(/Lines lost: \d+\.$/);
      const lost = Number(/(\d+)\.$/.exec(warning)?.[1]);
      expect(lost).toBeGreaterThan(0);
      expect(entries.at(-1)).toMatchObject({ level: 40, msg: warning });
      // The other is the warning.
      expect(entries.length - 1 + lost).toBe(before + BATCHES * BATCH);
      await logRequests(program.url);
      await expect.poll(countRequests).toBe(2 * BATCH);
      expect(entries.filter(({ level }) => level === 40)).toHaveLength(1);

      block();
      await expectUndisturbed(program, program.url);
    });
  },
);
