import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';

export interface Daemon {
  readonly process: ChildProcess;
  readonly ended: Promise<unknown>;
  log(): string;
  /** Ends it with SIGTERM. */
  stop(): Promise<void>;
}

/** Starts a program that logs to standard error, and waits for the line that reports it is ready. */
export async function startDaemon(
  program: string,
  args: readonly string[],
  ready: RegExp,
  options: SpawnOptions = {},
): Promise<Daemon> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise((resolve) => void child.once('close', resolve));
  let log = '';
  await new Promise<void>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => reject(new Error(`${program} did not start:\n${log}`)));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      if (ready.test(log)) resolve();
    });
  });
  const stop = async (): Promise<void> => {
    child.kill();
    await ended;
  };
  return { process: child, ended, log: () => log, stop };
}
