import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';

import { type Data, post } from './post.ts';

export type LogEntry = Record<string, unknown> & { readonly msg: string };

/** The exit code of a process, or the signal that ended it. */
type End = number | NodeJS.Signals | null;

export interface Program {
  /** The messages of its log so far, and its other output line by line. */
  readonly messages: string[];
  /** The lines of its log that are JSON, with all their fields. */
  readonly entries: LogEntry[];
  /** The URL of the gateway; empty until it listens. */
  readonly url: string;
  readonly process: ChildProcess;
  /** How the program exited. All of its output has been read by then. */
  readonly end: Promise<End>;
  /** Returns the first matching message as soon as it is logged. Rejects if the program exits first. */
  logged(pattern: RegExp): Promise<string>;
  /** Sends a signal and returns how the program exited. */
  stop(signal?: NodeJS.Signals): Promise<End>;
}

const LISTENING = /^Listening on (\S+)$/;
// V8 compiles WebAssembly a second time, better optimized, in the background. For programs that run for a few seconds,
// that costs more CPU time than it saves: with PGlite, half of the CPU time of a start.
export const V8_FLAGS: readonly string[] = ['--liftoff-only'];

const running = new Map<ChildProcess, Promise<End>>();

/** Kills the programs that still run, such as those of a failed test. */
export async function killPrograms(): Promise<void> {
  const ends = [...running].map(([child, end]) => {
    child.kill('SIGKILL');
    return end;
  });
  await Promise.all(ends);
}

function readLines(stream: Readable, onLine: (line: string) => void): void {
  let unread = '';
  stream.setEncoding('utf8').on('data', (text: string) => {
    const lines = (unread + text).split('\n');
    unread = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
}

const toEntry = (line: string): LogEntry | undefined =>
  line.startsWith('{') ? (JSON.parse(line) as LogEntry) : undefined;

/** The built programs, the program of the second store, and the relay for webhooks with a receiver in `cwd`. */
const PROGRAMS = {
  main: ['dist/main.js'],
  migrate: ['dist/migrate.js'],
  copy: ['dist/migrate.js', '--copy-embedded'],
  bookshop: ['--import', 'tsx', 'test/gateway/bookshop/main.ts'],
  webhooks: ['docs/examples/webhooks/relay.mjs'],
  receiver: ['receiver.mjs'],
};

/** Starts a program as an operator does, without waiting for it; `output` is the descriptor of a file for its log, and `cwd` the folder of another copy. */
export function spawnProgram(
  name: keyof typeof PROGRAMS,
  environment: Readonly<Record<string, string | undefined>>,
  output?: number,
  cwd = '.',
): Program {
  const child = spawn(process.execPath, [...V8_FLAGS, ...PROGRAMS[name]], {
    cwd,
    env: { PORT: '0', STOP_DELAY_MS: '0', ...environment },
    stdio: ['ignore', output ?? 'pipe', 'pipe'],
  });
  const messages: string[] = [];
  const entries: LogEntry[] = [];
  const onMessage = new Set<(message: string) => void>();
  const read = (line: string): void => {
    const entry = toEntry(line);
    const message = entry?.msg ?? line;
    if (entry) entries.push(entry);
    messages.push(message);
    for (const listener of onMessage) listener(message);
  };
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) readLines(stream, read);
  }
  const end = new Promise<End>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child);
      resolve(code ?? signal);
    });
  });
  running.set(child, end);
  return {
    messages,
    entries,
    get url() {
      return LISTENING.exec(messages.find((message) => LISTENING.test(message)) ?? '')?.[1] ?? '';
    },
    process: child,
    end,
    logged: (pattern) =>
      new Promise((resolve, reject) => {
        const found = messages.find((message) => pattern.test(message));
        if (found !== undefined) return resolve(found);
        onMessage.add((message) => pattern.test(message) && resolve(message));
        const fail = (): void =>
          reject(new Error(`It ended without ${pattern}:\n${messages.join('\n')}`));
        void end.then(fail);
      }),
    stop: (signal = 'SIGTERM') => {
      child.kill(signal);
      return end;
    },
  };
}

/** Starts the gateway and waits until its log says that it listens. */
export async function startProgram(
  environment: Readonly<Record<string, string>>,
  name: keyof typeof PROGRAMS = 'main',
  cwd?: string,
): Promise<Program> {
  const program = spawnProgram(name, environment, undefined, cwd);
  await program.logged(LISTENING);
  return program;
}

/** Starts a program that must exit with code 1; returns its messages. */
export async function failureOf(...args: Parameters<typeof spawnProgram>): Promise<string[]> {
  const { end, messages } = spawnProgram(...args);
  if ((await end) !== 1) throw new Error(`It did not fail:\n${messages.join('\n')}`);
  return messages;
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Whether a gateway reports within two seconds that it is ready. */
export async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/ready`, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}

/** Posts an operation and returns its data. */
export async function ask(to: { url: string }, query: string): Promise<Data> {
  return ((await (await post(to, { query })).json()) as { data: Data }).data;
}
