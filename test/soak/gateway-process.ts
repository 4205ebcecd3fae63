import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { freePort } from '../support/postgres.ts';
import { isReady } from '../support/program.ts';
import type { Journal } from './journal.ts';

const RESTART_MS = 300;
const TAIL_CHARACTERS = 100_000;
const TAIL_LINES = 8;
const LINE_CHARACTERS = 1000;
// The last of these lines is an error; on standard error, where the log can't be written, a sentence.
const LAST_ERROR = /"level":(50|60)[^\n]*$/;
const LAST_SENTENCE = /\.$/;
// Fields that differ between two lines of one error, or are long.
const NOISE = /"(time|requestId|stack|pid)":(\d+|"(?:[^"\\]|\\.)*"),?/g;
const REQUEST_LINE = '"msg":"A request ended."';
const MAX_LOG_BYTES = 4_000_000;
const MAX_STOP_MS = 20_000;
const MAX_RACE_MS = 30_000;

/** Where the gateway's log goes: a pipe that the soak reads, a file, or a device that is full. */
export type Sink = 'pipe' | 'file' | '/dev/full';

export interface Settings {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The file for the log, on a separate small disk. */
  readonly logFile: string;
}

/** One run of the program. */
interface Run {
  readonly url: string;
  readonly child: ChildProcess;
  readonly ended: Promise<string>;
  wasReady: boolean;
}

/** Runs the gateway as a supervisor does: restarts it whenever it ends. */
export class GatewayProcess {
  url = '';
  sink: Sink = 'pipe';
  /** Whether it may end by itself now, with exit code 1 and a sentence in its log. */
  mayEnd: 'never' | 'at its start' | 'at any time' = 'never';
  /** Whether its next start is two starts at once on the same store. */
  startTwice = false;
  starts = 0;
  /** Whether it was stopped or killed and has not been restarted. */
  isStopping = false;
  /** The workers that the soak killed. */
  readonly expectedDeaths = new Set<number>();
  #run: Run | undefined;
  #expectedEnd: string | undefined;
  #over = false;
  #tail = '';
  readonly #settings: Settings;
  readonly #journal: Journal;
  readonly #supervised: Promise<void>;

  constructor(settings: Settings, journal: Journal) {
    this.#settings = settings;
    this.#journal = journal;
    this.#supervised = this.#supervise();
  }

  get pid(): number {
    return this.#run?.child.pid ?? 0;
  }

  /** Its process ids: the primary's, then those of the workers. */
  async pids(): Promise<number[]> {
    const { pid } = this;
    if (pid === 0) return [];
    const children = await promisify(execFile)('pgrep', ['-P', String(pid)]).catch(() => {
      // pgrep fails if there are none.
      return { stdout: '' };
    });
    return [pid, ...children.stdout.split('\n').filter(Boolean).map(Number)];
  }

  /** Kills it; the supervisor restarts it. */
  kill(): void {
    const child = this.#run?.child;
    if (!child || !isAlive(child)) return;
    this.#expectedEnd = 'SIGKILL';
    this.isStopping = true;
    child.kill('SIGKILL');
  }

  /** Sends SIGTERM, after which it must end in bounded time; the supervisor restarts it. */
  async terminate(): Promise<void> {
    const run = this.#run;
    if (!run || !isAlive(run.child)) return;
    this.#expectedEnd = '0';
    this.isStopping = true;
    run.child.kill('SIGTERM');
    const inTime = await Promise.race([run.ended.then(() => true), sleep(MAX_STOP_MS, false)]);
    if (inTime) return;
    this.#journal.violate(`It did not end within ${MAX_STOP_MS} ms of SIGTERM: the soak kills it.`);
    this.kill();
    await run.ended;
  }

  /** Stops it for good. */
  async close(): Promise<void> {
    this.#over = true;
    await this.terminate();
    await this.#supervised;
  }

  /** Pauses or resumes reading its log. */
  readLog(reads: boolean): void {
    const stdout = this.#run?.child.stdout;
    if (reads) stdout?.resume();
    else stdout?.pause();
  }

  async isReady(): Promise<boolean> {
    return isReady(this.url);
  }

  /** Returns the last lines of its log without those of requests and without repetitions. */
  readTail(): string {
    const { logFile } = this.#settings;
    const file = this.sink === 'file' ? readFileSync(logFile, 'utf8') : '';
    const lines = (file + this.#tail).trim().split('\n');
    const telling = lines.filter((line) => !line.includes(REQUEST_LINE));
    const short = telling.map((line) => line.replaceAll(NOISE, '').slice(0, LINE_CHARACTERS));
    return [...new Set(short)].slice(-TAIL_LINES).join('\n');
  }

  /** Keeps the log's file small, as logrotate's copytruncate does. */
  rotateLog(): void {
    const { logFile } = this.#settings;
    if (this.sink === 'file' && statSync(logFile).size > MAX_LOG_BYTES) truncateSync(logFile);
  }

  async #supervise(): Promise<void> {
    const port = await freePort();
    while (!this.#over) {
      const run = this.startTwice ? await this.#race() : this.#spawn(port);
      this.startTwice = false;
      this.#run = run;
      this.url = run.url;
      this.isStopping = false;
      void this.#noteReady(run);
      this.#judge(run, await run.ended);
      await sleep(RESTART_MS);
    }
    this.#run = undefined;
  }

  /** Checks that the program ended as requested, or for a reason in its log. */
  #judge({ wasReady }: Run, end: string): void {
    const expected = this.#expectedEnd;
    this.#expectedEnd = undefined;
    if (end === expected || expected === 'SIGKILL') return;
    const mayEnd = this.mayEnd === 'at any time' || (this.mayEnd === 'at its start' && !wasReady);
    const last = this.sink === '/dev/full' ? LAST_SENTENCE : LAST_ERROR;
    if (mayEnd && end === '1' && last.test(this.readTail())) return;
    this.#journal.violate(`The gateway ended with ${end} instead of ${expected ?? 'running on'}.`);
  }

  async #noteReady(run: Run): Promise<void> {
    while (!run.wasReady && isAlive(run.child)) {
      run.wasReady = await isReady(run.url);
      await sleep(100);
    }
  }

  /** Starts two gateways on one store: one must serve, or none if the store is broken. */
  async #race(): Promise<Run> {
    const rivals = [this.#spawn(await freePort()), this.#spawn(await freePort())] as const;
    const ends: string[] = [];
    for (const { ended } of rivals) void ended.then((end) => ends.push(end));
    const isDecided = async (): Promise<boolean> => {
      const ready = await Promise.all(rivals.map(({ url }) => isReady(url)));
      return ends.length + ready.filter(Boolean).length >= rivals.length;
    };
    const deadline = performance.now() + MAX_RACE_MS;
    while (performance.now() < deadline && !(await isDecided())) await sleep(100);
    const alive = rivals.filter(({ child }) => isAlive(child));
    const isLegal = alive.length === 1 || (alive.length === 0 && this.mayEnd !== 'never');
    if (!isLegal || ends.some((end) => end !== '1')) {
      const text = `Of two gateways started on one store ${alive.length} run`;
      this.#journal.violate(`${text}; ended: ${ends.join() || 'none'}.`);
    }
    const [winner = rivals[0], loser] = alive;
    loser?.child.kill('SIGKILL');
    return winner;
  }

  #spawn(port: number): Run {
    this.starts += 1;
    const { folder, environment, logFile } = this.#settings;
    const stdout =
      this.sink === 'pipe' ? 'pipe' : openSync(this.sink === 'file' ? logFile : '/dev/full', 'a');
    const clock = new URL('clock.js', import.meta.url);
    clock.searchParams.set('file', join(folder, 'clock'));
    const child = spawn(process.execPath, ['--import', clock.href, join(folder, 'dist/main.js')], {
      env: { ...environment, PORT: String(port) },
      stdio: ['ignore', stdout, 'pipe'],
    });
    if (typeof stdout === 'number') closeSync(stdout);
    // An interrupted soak must leave no process behind.
    const end = (): void => void child.kill('SIGKILL');
    process.once('exit', end);
    const read = (chunk: Buffer): void => {
      this.#tail = (this.#tail + chunk.toString()).slice(-TAIL_CHARACTERS);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    const ended = new Promise<string>((resolve) => {
      child.once('exit', (code, signal) => {
        process.off('exit', end);
        // Its last output is read a moment later; a grandchild may keep the pipe open for longer.
        child.stdout?.resume();
        setTimeout(() => resolve(String(code ?? signal)), 100);
      });
    });
    return { url: `http://127.0.0.1:${port}`, child, ended, wasReady: false };
  }
}

const isAlive = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode === null && signalCode === null;
