import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Config } from '../config/config.ts';
import type { Store } from '../store.ts';
import { serveMetrics } from '../telemetry/cluster-metrics.ts';
import type { Log } from '../telemetry/log.ts';
import { logAddress, openStore } from './serve.ts';

// Without this delay, workers that keep dying would keep the machine busy.
const RESTART_MS = 2000;

const NOT_STARTED = 'A worker could not be started. The gateway will try again.';

/** Whether this process is one of several that share the port. */
export const { isWorker } = cluster;

/**
 * Calls `stop` once, when the primary process sends SIGTERM. If the primary process is killed, node:cluster ends its
 * workers.
 */
export function onPrimaryStops(stop: () => void): void {
  // A terminal sends SIGINT and SIGHUP to every process, but only the primary process stops the workers. A second SIGTERM,
  // such as from a service manager that signals every process, must not kill a worker that is already stopping.
  for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM']) process.on(signal, () => {});
  process.once('SIGTERM', stop);
}

const workers = (): Worker[] =>
  Object.values(cluster.workers ?? {}).flatMap((worker) =>
    // A worker whose process could not be started has no id.
    worker?.process.pid !== undefined && !worker.isDead() ? [worker] : [],
  );

/** Starts a worker; the primary process has already migrated and filled the database. */
const fork = (): Worker => cluster.fork({ MIGRATE: 'false', SAMPLE_STORE: 'false' });

/**
 * Runs `config.workers` processes on one port, and replaces processes that die. Resolves once a worker is listening.
 * @param beforeListening called with the function that stops the workers
 * @throws ConfigError, MigrationError
 */
export async function startWorkers(
  store: Store,
  config: Config,
  log: Log,
  beforeListening: (close: () => Promise<void>) => void,
): Promise<void> {
  const db = await openStore(store, config, log);
  log.info(`Database: ${db.description}`);
  await db.close();
  serveMetrics();

  let isUp = false;
  let isStopping = false;
  const replace = async (reason: string, err?: unknown): Promise<void> => {
    if (isStopping) return;
    if (isUp || err) log.error({ err }, reason);
    if (!isUp) process.exit(1);
    await sleep(RESTART_MS);
    if (!isStopping) start();
  };
  const start = (): void => {
    try {
      const worker = fork();
      // Without a listener, the error would end this process, and with it all workers.
      worker.on('error', (error) => {
        if (worker.process.pid === undefined) void replace(NOT_STARTED, error);
        else log.error({ err: error }, `Worker ${worker.process.pid} failed.`);
      });
    } catch (error) {
      void replace(NOT_STARTED, error);
    }
  };
  cluster.on('exit', ({ process: { pid } }) => {
    void replace(`Worker ${pid} died and will be replaced.`);
  });
  process.on('exit', () => {
    for (const worker of workers()) worker.process.kill('SIGKILL');
  });
  beforeListening(async () => {
    isStopping = true;
    // events.once() would reject if a message can't be sent to a worker that has exited.
    const ends = workers().map(
      (worker) => new Promise<void>((resolve) => void worker.once('exit', () => resolve())),
    );
    for (const worker of workers()) worker.process.kill('SIGTERM');
    await Promise.all(ends);
  });
  await new Promise<void>((resolve) => {
    cluster.on('listening', (_worker, { address, port }) => {
      if (!isUp) logAddress({ address, port }, config, log);
      isUp = true;
      resolve();
    });
    for (let started = 0; started < config.workers; started += 1) start();
  });
}
