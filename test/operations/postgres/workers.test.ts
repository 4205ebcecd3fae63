import { execFileSync } from 'node:child_process';

import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';

import { copyOnPostgres } from '../../support/databases.ts';
import { readMetrics, sumOf } from '../../support/metrics.ts';
import {
  countConnections,
  countLockWaits,
  createDatabaseOn,
  dropDatabaseOn,
  holdLock,
  runSql,
} from '../../support/postgres.ts';
import {
  ask,
  killPrograms,
  type Program,
  spawnProgram,
  startProgram,
} from '../../support/program.ts';
import { awaitStatus, readStatus, type Status } from '../../support/status.ts';

// The default of SUNSET_DATE.
const SUNSET_SECONDS = Date.parse('2027-12-31') / 1000;
const WAIT = { timeout: 30_000, interval: 50 };

let url: string;
let drop: () => Promise<void>;
let program: Program;
beforeAll(async () => {
  ({ url, drop } = await copyOnPostgres());
  program = await startProgram({ DATABASE_URL: url, WORKERS: '2', POOL_SIZE: '2' });
});
afterAll(async () => {
  await killPrograms();
  await drop();
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Returns the process ids of the workers. */
function findWorkers(): number[] {
  const pids = execFileSync('pgrep', ['-P', String(program.process.pid)], { encoding: 'utf8' });
  return pids.trim().split('\n').map(Number);
}

/** Makes a request and returns how many workers have responded to one so far. */
async function countResponding(): Promise<number> {
  await fetch(`${program.url}/none`, { headers: { connection: 'close' } });
  const lines = program.entries.filter(({ msg }) => msg === 'A request ended.');
  return new Set(lines.map(({ pid }) => pid)).size;
}

describe('a gateway with WORKERS=2', { timeout: 120_000 }, () => {
  it('returns the sum of both from /metrics', async () => {
    await vi.waitFor(async () => expect(await countResponding()).toBe(2), WAIT);
    // Each on a connection of its own, which the primary process gives to the workers in turn.
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
      // What holds for each of them is not summed.
      for (const name of ['gateway_build_info', 'database_up', 'database_writable']) {
        expect(sumOf(samples, name)).toBe(1);
      }
      expect(sumOf(samples, 'graphql_operation_cost_limit')).toBe(100_000);
      expect(sumOf(samples, 'operation_sunset_timestamp_seconds')).toBe(SUNSET_SECONDS);
    }
  });

  it('returns the sum of both from /status.json, also after one has died', async () => {
    const headers = { connection: 'close', 'user-agent': 'till/1' };
    // The status page does not count those of /metrics.
    const before = (await readMetrics(program)).filter(
      ({ labels }) => labels['route'] !== '/metrics',
    );
    const total = sumOf(before, 'http_request_duration_seconds_count') + 20;
    for (let count = 0; count < 20; count += 1) await fetch(`${program.url}/pets/1`, { headers });
    const expectSum = (status: Status): void => {
      expect(status.requests.total).toBe(total);
      expect(status.deprecated[0]?.callers.find(({ caller }) => caller === 'till')).toEqual({
        caller: 'till',
        recent: 20,
        total: 20,
      });
    };
    const status = await awaitStatus(program, total);
    expectSum(status);
    expect(status.processes).toEqual({ configured: 2, reporting: 2 });
    expect(status.sampleSeconds).toBe(10);
    expect(status.samples.at(-1)?.pool).toMatchObject({ max: 4 });

    await vi.waitFor(() => expect(findWorkers()).toHaveLength(2), WAIT);
    const [victim = 0] = findWorkers();
    process.kill(victim, 'SIGKILL');
    await program.logged(new RegExp(`^Worker ${victim} died: a replacement will start.$`));
    expectSum(await readStatus(program));
  });

  it('replaces a process that dies', async () => {
    await vi.waitFor(() => expect(findWorkers()).toHaveLength(2), WAIT);
    const [victim = 0, survivor] = findWorkers();
    await Promise.all(Array.from({ length: 60 }, () => ask(program, '{ pets { totalCount } }')));

    process.kill(victim, 'SIGKILL');
    await program.logged(new RegExp(`^Worker ${victim} died: a replacement will start.$`));
    expect((await fetch(`${program.url}/health`)).status).toBe(200);
    await vi.waitFor(() => expect(findWorkers()).toHaveLength(2), WAIT);
    expect(findWorkers()).toContain(survivor);
  });

  it('uses one port, which a second gateway cannot use', async () => {
    const { port } = new URL(program.url);
    const second = spawnProgram('main', { DATABASE_URL: url, PORT: port });
    expect(await second.end).toBe(1);
    expect(second.messages).toContain('PORT is in use by another program: choose another.');
    expect(program.messages.filter((line) => line.startsWith('Listening'))).toHaveLength(1);
  });

  it('answers open requests and then ends if its primary process is killed', async () => {
    const workers = findWorkers();
    const [category] = await runSql(
      url,
      `insert into categories (name) values ('Cats') returning id`,
    );
    const unlock = await holdLock(url, 'lock table categories in access exclusive mode');
    const open = ask(program, `{ category(id: "${String(category?.['id'])}") { name } }`);
    await vi.waitFor(async () => expect(await countLockWaits(url)).toBe(1), WAIT);
    program.process.kill('SIGKILL');
    // The worker without a request ends at once.
    await vi.waitFor(() => expect(workers.filter(isAlive)).toHaveLength(1), WAIT);
    await unlock();
    expect(await open).toEqual({ category: { name: 'Cats' } });
    await vi.waitFor(() => expect(workers.filter(isAlive)).toEqual([]), WAIT);
    expect(await countConnections(url)).toBe(0);
  });
});

describe('gateways that start at once on an empty database', { timeout: 120_000 }, () => {
  it('migrate it once and fill one sample store', async () => {
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
