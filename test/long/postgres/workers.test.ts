import { execFileSync } from 'node:child_process';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { copyOnPostgres } from '../../support/databases.ts';
import { readMetrics, sumOf } from '../../support/metrics.ts';
import { countConnections, runSql } from '../../support/postgres.ts';
import {
  killPrograms,
  type LogEntry,
  type Program,
  spawnProgram,
  startProgram,
} from '../../support/program.ts';

let url: string;
let drop: () => Promise<void>;
let program: Program;
beforeEach(async () => {
  ({ url, drop } = await copyOnPostgres());
  program = await startProgram({ DATABASE_URL: url, WORKERS: '2' });
});
afterEach(async () => {
  await killPrograms();
  await drop();
});

/** Returns the process ids of the workers. */
function findWorkers(): number[] {
  const pids = execFileSync('pgrep', ['-P', String(program.process.pid)], { encoding: 'utf8' });
  return pids.trim().split('\n').map(Number);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Kills the workers. Until the returned function is called, others can't start. */
async function killWorkers(): Promise<() => Promise<unknown>> {
  await runSql(url, 'alter table _prisma_migrations rename to gone');
  execFileSync('pkill', ['-KILL', '-P', String(program.process.pid)]);
  return () => runSql(url, 'alter table gone rename to _prisma_migrations');
}

const findDeaths = (): LogEntry[] =>
  program.entries.filter(({ msg }) => /^Worker \d+ died/.test(msg));

/** Returns when the workers died, in milliseconds: two at a time; what comes between is a pause and a start. */
const timesOfDeaths = (): number[] =>
  findDeaths()
    .filter((_death, index) => index % 2 === 1)
    .map(({ time }) => Date.parse(String(time)));

const WAIT = { timeout: 60_000, interval: 50 };

const metricsStatus = async (): Promise<number> => (await fetch(`${program.url}/metrics`)).status;

describe('workers that cannot start any more', { timeout: 300_000 }, () => {
  it('end the gateway with a sentence, after later and later restarts', async () => {
    await killWorkers();
    expect(await program.end).toBe(1);
    expect(program.messages.at(-1)).toBe(
      'No worker stays alive: the last 9 died soon after their start. Giving up.',
    );
    expect(findDeaths()).toHaveLength(8);
    const [, second = 0, third = 0, fourth = 0] = timesOfDeaths();
    expect(third - second).toBeGreaterThan(1900);
    expect(fourth - third).toBeGreaterThan(3900);
  });

  it('are started again, after a longer pause each time, until they can', async () => {
    const allowStart = await killWorkers();
    await expect.poll(findDeaths, WAIT).toHaveLength(4);
    await allowStart();
    const [first = 0, second = 0] = timesOfDeaths();
    expect(second - first).toBeGreaterThan(900);
    await expect.poll(metricsStatus, WAIT).toBe(200);
    expect(Date.now() - second).toBeGreaterThan(1900);
  });
});

describe('a gateway with WORKERS=2', () => {
  it('says in /metrics which worker does not respond, and keeps its last values', async () => {
    await expect.poll(async () => sumOf(await readMetrics(program), 'worker_up'), WAIT).toBe(2);
    const [frozen = 0, other = 0] = findWorkers();
    const headers = { connection: 'close', 'user-agent': 'shop/1' };
    for (let count = 0; count < 20; count += 1) await fetch(`${program.url}/pets/1`, { headers });
    expect(sumOf(await readMetrics(program), 'operation_calls_total')).toBe(20);

    process.kill(frozen, 'SIGSTOP');
    for (let scrape = 0; scrape < 2; scrape += 1) {
      // The frozen process never responds to the one that it is given.
      const samples = await Promise.any(Array.from({ length: 4 }, () => readMetrics(program)));
      expect(sumOf(samples, 'operation_calls_total')).toBe(20);
      expect(sumOf(samples, 'worker_up', { pid: String(frozen) })).toBe(0);
      expect(samples.filter(({ name }) => name === 'worker_up')).toHaveLength(2);
      expect(sumOf(samples, 'worker_up', { pid: String(other) })).toBe(1);
    }
    process.kill(frozen, 'SIGCONT');
    await expect.poll(async () => sumOf(await readMetrics(program), 'worker_up'), WAIT).toBe(2);
    expect(sumOf(await readMetrics(program), 'operation_calls_total')).toBe(20);
  });

  it('returns the metrics while a worker dies', async () => {
    await expect.poll(async () => sumOf(await readMetrics(program), 'worker_up'), WAIT).toBe(2);
    const [victim = 0] = findWorkers();
    // It takes the connections that it has with it.
    const taken = new AbortController();
    const scrapes = Array.from({ length: 20 }, () =>
      fetch(`${program.url}/metrics`, { signal: taken.signal }),
    );
    process.kill(victim, 'SIGKILL');
    expect((await Promise.any(scrapes)).status).toBe(200);
    taken.abort();
    await Promise.allSettled(scrapes);
    await program.logged(new RegExp(`^Worker ${victim} died`));
    const pidsUp = async () =>
      (await readMetrics(program))
        .filter(({ name, value }) => name === 'worker_up' && value === 1)
        .map(({ labels }) => Number(labels['pid']));
    await expect.poll(pidsUp, WAIT).toHaveLength(2);
    expect(await pidsUp()).not.toContain(victim);
  });

  it('does not start on a port that another uses', async () => {
    const { port } = new URL(program.url);
    const second = spawnProgram('main', { DATABASE_URL: url, WORKERS: '2', PORT: port });
    expect(await second.end).toBe(1);
    expect(second.messages).toContain('PORT is in use by another program: choose another.');
    expect(program.messages.filter((line) => line.startsWith('Listening'))).toHaveLength(1);
  });

  it('closes its connections to the database when it stops', async () => {
    expect(await program.stop('SIGINT')).toBe(0);
    await expect.poll(() => countConnections(url), WAIT).toBe(0);
  });

  it('stops at once on a second signal', async () => {
    await program.stop('SIGKILL');
    program = await startProgram({ DATABASE_URL: url, WORKERS: '2', STOP_DELAY_MS: '60000' });
    const workers = findWorkers();
    program.process.kill('SIGTERM');
    await program.logged(/^Stopping\.$/);
    const begin = performance.now();
    expect(await program.stop()).toBe(1);
    expect(performance.now() - begin).toBeLessThan(30_000);
    await expect.poll(() => workers.filter(isAlive), WAIT).toEqual([]);
  });
});
