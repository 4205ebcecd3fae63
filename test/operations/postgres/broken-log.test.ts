import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterEach, describe, expect, it, onTestFinished } from 'vitest';

import { useProgramStore } from '../../support/databases.ts';
import { freePort } from '../../support/postgres.ts';
import {
  failureOf,
  isReady,
  killPrograms,
  type LogEntry,
  type Program,
  spawnProgram,
  startProgram,
} from '../../support/program.ts';

// The log is the same with both databases, and programs start faster with PostgreSQL.
const store = useProgramStore();

afterEach(killPrograms);

const BATCH = 1000;

async function logRequests(url: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let count = 0; count < BATCH; count += 1) {
    const [response] = (await once(get(`${url}/none`, { agent }), 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(404);
    await once(response.resume(), 'end');
  }
  agent.destroy();
}

/** Returns the CPU time that a process has used, in seconds. */
function cpuOf({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** Expects a gateway without a writable log to serve callers, use little CPU time, and stop. */
async function expectUndisturbed(program: Program, url: string): Promise<void> {
  await logRequests(url);
  const before = cpuOf(program.process);
  await sleep(1000);
  expect(cpuOf(program.process) - before).toBeLessThan(0.7);
  expect((await fetch(`${url}/store/orders`)).status).toBe(200);
  const begin = performance.now();
  expect(await program.stop()).toBe(0);
  // The log is flushed within two seconds; the rest of the time is for a busy machine.
  expect(performance.now() - begin).toBeLessThan(10_000);
}

async function expectUndisturbedBy(path: string): Promise<void> {
  const port = String(await freePort());
  const file = openSync(path, 'w');
  const program = spawnProgram('main', { ...store.environment, PORT: port }, file);
  closeSync(file);
  const url = `http://127.0.0.1:${port}`;
  await expect.poll(() => isReady(url)).toBe(true);
  await expectUndisturbed(program, url);
}

describe.skipIf(process.platform !== 'linux')(
  'standard output that cannot be written to',
  { timeout: 60_000 },
  () => {
    it('affects neither callers nor the shutdown on SIGTERM', async () => {
      await expectUndisturbedBy('/dev/full');
    });

    it('affects neither callers nor the shutdown if it is a terminal that nobody reads, as after Ctrl-S', async () => {
      // The program has a terminal, copies what it gets there to its output, and tells the terminal's name.
      const terminal = spawn('script', ['-qfc', 'tty; exec sleep 600', '/dev/null']);
      onTestFinished(() => void terminal.kill());
      const [name] = await once(terminal.stdout, 'data');
      terminal.stdout.pause();
      await expectUndisturbedBy(String(name).trim());
    });

    it('does not prevent the exit of a gateway that fails to start', async () => {
      const file = openSync('/dev/full', 'w');
      await expect(failureOf('main', { PORT: 'none' }, file)).resolves.toEqual([]);
      closeSync(file);
    });
  },
);

// Enough errors to exceed the 2 MB that can wait to be written.
const ERRORS = 3000;
/** On SIGUSR2, logs errors of more than a kilobyte each: that is faster than sending requests. */
const LOG_ERRORS = `
  process.once('SIGUSR2', () => {
    for (let count = 0; count < ${ERRORS}; count += 1) Promise.reject(new Error('x'.repeat(500)));
    setImmediate(() => process.stderr.write('logged\\n'));
  });`;

const isRequest = ({ msg }: LogEntry): boolean => msg === 'A request ended.';

describe.skipIf(process.platform !== 'linux')(
  'standard output that becomes writable again',
  { timeout: 120_000 },
  () => {
    it('gets one warning with the number of lost lines, and does not disturb the gateway if writes block again', async () => {
      const preload = `--import "data:text/javascript,${encodeURIComponent(LOG_ERRORS)}"`;
      const program = await startProgram({ ...store.environment, NODE_OPTIONS: preload });
      const { entries } = program;
      const { stdout } = program.process;
      const countRequests = (): number => entries.filter(isRequest).length;
      await logRequests(program.url);
      await expect.poll(countRequests).toBe(BATCH);
      const countErrors = (): number => entries.filter(({ level }) => level === 50).length;
      const before = countErrors();

      stdout?.pause();
      program.process.kill('SIGUSR2');
      await program.logged(/^logged$/);
      stdout?.resume();

      const warning = await program.logged(/Lines lost: \d+\.$/);
      const lost = Number(/(\d+)\.$/.exec(warning)?.[1]);
      expect(lost).toBeGreaterThan(0);
      expect(entries.at(-1)).toMatchObject({ level: 40, msg: warning });
      expect(countErrors() + lost).toBe(before + ERRORS);
      await logRequests(program.url);
      await expect.poll(countRequests).toBe(2 * BATCH);
      expect(entries.filter(({ level }) => level === 40)).toHaveLength(1);

      stdout?.pause();
      await expectUndisturbed(program, program.url);
    });
  },
);

it('a program that is killed has written its warnings, and every line before them', async () => {
  const kill = `process.once('SIGWINCH', () => {
    process.emitWarning('Planted.');
    setImmediate(() => process.kill(process.pid, 'SIGKILL'));
  })`;
  const preload = `--import "data:text/javascript,${encodeURIComponent(kill)}"`;
  const killed = await startProgram({ ...store.environment, NODE_OPTIONS: preload });
  const headers = { 'x-request-id': 'before' };
  await Promise.all(Array.from({ length: 3 }, () => fetch(`${killed.url}/pets/1`, { headers })));
  await killed.stop('SIGWINCH');
  const [last, ...before] = killed.entries.toReversed();
  expect(last).toMatchObject({ level: 40, msg: 'Node.js or a package warns.' });
  expect(before.filter(({ requestId }) => requestId === 'before')).toHaveLength(3);
});
