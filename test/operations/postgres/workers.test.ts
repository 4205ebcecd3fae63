import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { beforeAll, describe, expect, inject, it } from 'vitest';

import { connectTo } from '../../support/callers.ts';
import { useProgramStore } from '../../support/databases.ts';
import { readMetrics, sumOf } from '../../support/metrics.ts';
import { countConnections, createDatabaseOn, dropDatabaseOn } from '../../support/postgres.ts';
import {
  ask,
  findWorkers,
  isAlive,
  type Program,
  spawnProgram,
  startProgram,
} from '../../support/program.ts';
import { awaitStatus, readStatus } from '../../support/status.ts';

// The default of SUNSET_DATE.
const SUNSET_SECONDS = Date.parse('2027-12-31') / 1000;

const store = useProgramStore();
let program: Program;
beforeAll(async () => {
  program = await startProgram({
    ...store.environment,
    WORKERS: '2',
    POOL_SIZE: '2',
    REQUEST_TIMEOUT_MS: '2000',
  });
});

/** Makes a request and returns how many workers have responded so far. */
async function countResponding(): Promise<number> {
  await fetch(`${program.url}/none`, { headers: { connection: 'close' } });
  const lines = program.entries.filter(({ msg }) => msg === 'A request ended.');
  return new Set(lines.map(({ pid }) => pid)).size;
}

describe('a gateway with WORKERS=2', { timeout: 120_000 }, () => {
  it('logs once, at startup, what replaces the deprecated setting', () => {
    expect(program.messages.filter((message) => message.includes('4.0.0'))).toEqual([
      'Not supported from 4.0.0 on: WORKERS: start several gateways behind a load balancer.',
    ]);
  });

  it("reports the sums of both workers' metrics at /metrics, except values that apply to every worker", async () => {
    await expect.poll(countResponding).toBe(2);
    // Each request has its own connection, which the primary process assigns to the workers in turn.
    const headers = { connection: 'close', 'user-agent': 'shop/1' };
    for (let count = 0; count < 20; count += 1) await fetch(`${program.url}/pets/1`, { headers });
    for (let count = 0; count < 4; count += 1) {
      const samples = await readMetrics(program);
      const calls = samples.filter(({ name }) => name === 'operation_calls_total');
      expect(calls).toEqual([
        {
          name: 'operation_calls_total',
          labels: { operation: 'GET /pets/{petId}', caller: 'shop' },
          value: 20,
        },
      ]);
      expect(sumOf(samples, 'worker_up')).toBe(2);
      expect(sumOf(samples, 'database_pool_total')).toBe(2);
      expect(sumOf(samples, 'database_pool_max')).toBe(4);
      expect(sumOf(samples, 'dataloader_batch_size_count')).toBe(20);
      expect(sumOf(samples, 'request_errors_total', { code: 'PET_NOT_FOUND' })).toBe(20);
      // Values that apply to every worker are not summed.
      for (const name of ['gateway_build_info', 'database_up', 'database_writable']) {
        expect(sumOf(samples, name)).toBe(1);
      }
      expect(sumOf(samples, 'graphql_operation_cost_limit')).toBe(100_000);
      expect(sumOf(samples, 'operation_sunset_timestamp_seconds')).toBe(SUNSET_SECONDS);
    }
  });

  it("shows the sums of both workers' metrics on the /status page", async () => {
    const headers = { connection: 'close', 'user-agent': 'till/1' };
    const total = (await readStatus(program)).requests.total + 20;
    for (let count = 0; count < 20; count += 1) await fetch(`${program.url}/pets/1`, { headers });
    const { startedAt, requests, deprecated, processes, pool } = await awaitStatus(program, total);
    expect(Math.abs(Date.now() - startedAt)).toBeLessThan(600_000);
    expect(requests.total).toBe(total);
    const callers = deprecated.flatMap((each) => each.callers);
    expect(callers.find(({ caller }) => caller === 'till')).toEqual({ caller: 'till', total: 20 });
    expect(processes).toEqual({ configured: 2, reporting: 2 });
    expect(pool).toMatchObject({ max: 4 });
  });

  it('replaces a worker that dies', async () => {
    await expect.poll(() => findWorkers(program)).toHaveLength(2);
    const [victim = 0, survivor] = findWorkers(program);
    await Promise.all(Array.from({ length: 60 }, () => ask(program, '{ pets { totalCount } }')));

    process.kill(victim, 'SIGKILL');
    await program.logged(new RegExp(`^Worker ${victim} died and will be replaced.$`));
    expect((await fetch(`${program.url}/health`)).status).toBe(200);
    await expect.poll(() => findWorkers(program)).toHaveLength(2);
    expect(findWorkers(program)).toContain(survivor);
  });

  it('survives a worker that cannot be started, and tries again', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'store-workers-'));
    // Workers start in this folder; without it, they can't be started.
    const setUp = `import('node:cluster').then((cluster) => cluster.default.setupPrimary?.({ cwd: ${JSON.stringify(folder)} }))`;
    const other = await startProgram({
      ...store.environment,
      WORKERS: '2',
      NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(setUp)}"`,
    });
    await expect.poll(() => findWorkers(other)).toHaveLength(2);
    await rm(folder, { recursive: true });
    process.kill(findWorkers(other)[0] ?? 0, 'SIGKILL');
    await other.logged(/^A worker could not be started/);
    expect((await fetch(`${other.url}/health`)).status).toBe(200);
    await mkdir(folder);
    await expect.poll(() => findWorkers(other)).toHaveLength(2);
    expect(await other.stop()).toBe(0);
    await rm(folder, { recursive: true });
  });

  it('uses one port, which a second gateway cannot use', async () => {
    const { port } = new URL(program.url);
    const second = spawnProgram('main', { ...store.environment, PORT: port });
    expect(await second.end).toBe(1);
    const sentence = /^Cannot listen on HOST and PORT: .*EADDRINUSE/;
    expect(second.messages).toContainEqual(expect.stringMatching(sentence));
    expect(program.messages.filter((line) => line.startsWith('Listening'))).toHaveLength(1);
  });

  it('rejects a request that does not arrive in time', async () => {
    const socket = connectTo(program);
    socket.write('GET /health HTTP/1.1\r\n');
    const [data] = (await once(socket, 'data')) as [Buffer];
    expect(data.toString()).toMatch(/^HTTP\/1\.1 408 /);
    socket.destroy();
  });

  it('stops if its primary process is killed', async () => {
    const workers = findWorkers(program);
    program.process.kill('SIGKILL');
    await expect.poll(() => workers.filter(isAlive)).toEqual([]);
    await expect.poll(() => countConnections(store.url)).toBe(0);
  });
});

describe('gateways that start at the same time on an empty database', { timeout: 120_000 }, () => {
  it('migrate it once and create one sample store', async () => {
    const { server } = inject('emptyPostgres');
    const empty = await createDatabaseOn(server);
    const programs = await Promise.all(
      Array.from({ length: 2 }, () => startProgram({ DATABASE_URL: empty, SAMPLE_STORE: 'true' })),
    );
    const messages = programs.flatMap((started) => started.messages);
    const applied = messages.filter((message) => message.startsWith('Applied migration'));
    expect(applied.length).toBe(new Set(applied).size);
    expect(applied.length).toBeGreaterThan(1);
    expect(messages.filter((message) => message === 'Filled the sample store.')).toHaveLength(1);
    for (const started of programs) {
      expect(await ask(started, '{ categories { totalCount } }')).toEqual({
        categories: { totalCount: 10 },
      });
      expect(await started.stop()).toBe(0);
    }
    await dropDatabaseOn(server, empty);
  });
});
