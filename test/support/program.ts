import { type ChildProcess, spawn } from 'node:child_process';

import { post } from './post.ts';

/** A line of the log. */
export type LogEntry = Record<string, unknown> & { readonly msg: string };

export interface Program {
  /** What it logged so far. */
  readonly messages: string[];
  /** The lines of its log, those of JSON, with all that is in them. */
  readonly entries: LogEntry[];
  readonly url: string;
  readonly process: ChildProcess;
  /** The exit code, or the signal that ended it, once it has ended. */
  readonly end: Promise<number | NodeJS.Signals | null>;
  /** Sends a signal and gives how it ended. */
  stop(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
}

const running = new Set<ChildProcess>();

/** Ends what a failed test left behind. */
export function killPrograms(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Starts a built program as an operator does, without waiting for it. */
export function spawnProgram(
  name: 'main' | 'migrate',
  environment: Readonly<Record<string, string | undefined>>,
): Program {
  const child = spawn(process.execPath, [`dist/${name}.js`], {
    env: { PORT: '0', STOP_DELAY_MS: '0', ...environment },
  });
  running.add(child);
  const messages: string[] = [];
  const entries: LogEntry[] = [];
  let unread = '';
  const read = (chunk: Buffer): void => {
    const lines = (unread + chunk.toString()).split('\n');
    unread = lines.pop() ?? '';
    for (const line of lines) {
      const entry = line.startsWith('{') ? (JSON.parse(line) as LogEntry) : undefined;
      if (entry) entries.push(entry);
      messages.push(entry?.msg ?? line);
    }
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  const end = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child);
      resolve(code ?? signal);
    });
  });
  return {
    messages,
    entries,
    get url() {
      return /^Listening on (\S+)$/m.exec(messages.join('\n'))?.[1] ?? '';
    },
    process: child,
    end,
    stop: (signal = 'SIGTERM') => {
      child.kill(signal);
      return end;
    },
  };
}

/** Starts the gateway and waits until it says where it listens. */
export async function startProgram(environment: Record<string, string>): Promise<Program> {
  const program = spawnProgram('main', environment);
  let ended = false;
  program.process.once('close', () => {
    ended = true;
  });
  while (program.url === '') {
    if (ended) throw new Error(`It ended:\n${program.messages.join('\n')}`);
    await new Promise((resolve) => void setTimeout(resolve, 20));
  }
  return program;
}

/** Posts an operation and gives its data. */
export async function ask<Data = unknown>(to: { url: string }, query: string): Promise<Data> {
  const response = await post(to, { query });
  const { data } = (await response.json()) as { data: Data };
  return data;
}
