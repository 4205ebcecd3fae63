import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Config } from './config.ts';
import { openDatabase } from './database/open.ts';
import type { Log } from './log.ts';
import { answerScrapes } from './scrape.ts';
import { announce } from './serve.ts';

// A worker that dies again and again must not keep the machine busy with starting it.
const RESTART_DELAY_MS = 1000;

/** Whether this process is one of several that share the port. */
export const { isWorker } = cluster;

/** Calls `stop` when the primary process says so, or is gone. */
export function onPrimaryStops(stop: () => void): void {
  // Ctrl-C in a terminal goes to every process; who stops the workers is the primary alone.
  process.on('SIGINT', () => {});
  process.once('SIGTERM', stop).once('disconnect', stop);
}

const workers = (): Worker[] =>
  Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);

/** Starts one more; the database was made ready for it by the primary. */
const fork = (): Worker => cluster.fork({ MIGRATE: 'false', SAMPLE_STORE: 'false' });

/** Runs `config.workers` processes on one port, each replaced if it dies, and gives what stops them. */
export async function startWorkers(config: Config, log: Log): Promise<() => Promise<void>> {
  const db = await openDatabase(config, log);
  log.info(`Database: ${db.description}`);
  await db.close();

  let stopping = false;
  let announced = false;
  const replace = async ({ process: { pid } }: Worker): Promise<void> => {
    if (stopping) return;
    if (!announced) process.exit(1);
    log.error(`Worker ${pid} died: another one takes its place.`);
    await sleep(RESTART_DELAY_MS);
    if (!stopping) fork();
  };
  cluster.on('exit', (worker) => void replace(worker));
  cluster.on('listening', (_worker, { address, port }) => {
    if (!announced) announce(address, port, config, log);
    announced = true;
  });
  answerScrapes();
  for (let count = 0; count < config.workers; count += 1) fork();

  process.on('exit', () => {
    for (const worker of workers()) worker.process.kill('SIGKILL');
  });

  return async () => {
    stopping = true;
    const ends = workers().map((worker) => once(worker, 'exit'));
    for (const worker of workers()) worker.process.kill('SIGTERM');
    await Promise.all(ends);
  };
}
