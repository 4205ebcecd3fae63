import { execFileSync } from 'node:child_process';

import { describe, expect, it } from 'vitest';

import { useProgramStore } from '../../support/databases.ts';
import { readMetrics, sumOf } from '../../support/metrics.ts';
import { freePort } from '../../support/postgres.ts';
import {
  findWorkers,
  isAlive,
  isReady,
  type LogEntry,
  type Program,
  startProgram,
} from '../../support/program.ts';

const store = useProgramStore();
let program: Program;
const start = async (variables = {}): Promise<void> => {
  program = await startProgram({ ...store.environment, WORKERS: '2', ...variables });
};

const findDeaths = (): LogEntry[] =>
  program.entries.filter(({ msg }) => /^Worker \d+ died/.test(msg));

/**
 * Returns the times at which both workers had died, in milliseconds: two die at a time, and are replaced after a pause.
 */
const timesOfDeaths = (): number[] =>
  findDeaths()
    .filter((_death, index) => index % 2 === 1)
    .map(({ time }) => Date.parse(String(time)));

const WAIT = { timeout: 60_000, interval: 50 };

describe('a gateway with WORKERS=2', { timeout: 300_000 }, () => {
  it("reports in /metrics which worker does not respond, and keeps the worker's last values", async () => {
    await start();
    await expect.poll(async () => sumOf(await readMetrics(program), 'worker_up'), WAIT).toBe(2);
    const [frozen = 0, other = 0] = findWorkers(program);
    const headers = { connection: 'close', 'user-agent': 'shop/1' };
    for (let count = 0; count < 20; count += 1) await fetch(`${program.url}/pets/1`, { headers });
    expect(sumOf(await readMetrics(program), 'operation_calls_total')).toBe(20);

    process.kill(frozen, 'SIGSTOP');
    for (let scrape = 0; scrape < 2; scrape += 1) {
      // The frozen process never responds to a connection that it gets.
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

  it('stops immediately on a second signal', async () => {
    await start({ STOP_DELAY_MS: '60000' });
    const workers = findWorkers(program);
    program.process.kill('SIGTERM');
    await program.logged(/^Stopping\.$/);
    const begin = performance.now();
    expect(await program.stop()).toBe(1);
    expect(performance.now() - begin).toBeLessThan(30_000);
    await expect.poll(() => workers.filter(isAlive), WAIT).toEqual([]);
  });

  it('replaces workers that fail to start, after a pause of two seconds each time, until they start', async () => {
    // If the system chooses the port, workers keep it only while at least one of them is alive.
    await start({ PORT: String(await freePort()) });
    await store.run('alter table _prisma_migrations rename to gone');
    execFileSync('pkill', ['-KILL', '-P', String(program.process.pid)]);
    await expect.poll(() => findDeaths().length, WAIT).toBeGreaterThanOrEqual(8);
    await store.run('alter table gone rename to _prisma_migrations');
    await expect.poll(() => isReady(program.url), WAIT).toBe(true);
    const times = timesOfDeaths();
    const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(Math.min(...pauses)).toBeGreaterThan(1900);
    expect(await program.stop()).toBe(0);
  });
});
