import { execFileSync } from 'node:child_process';

import { afterAll, describe, it, type TestContext, vi } from 'vitest';

import { copyOnPostgres } from '../../support/databases.ts';
import { readMetrics, sumOf } from '../../support/metrics.ts';
import {
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

afterAll(killPrograms);

const WAIT = { timeout: 30_000, interval: 50 };

interface Cluster {
  readonly program: Program;
  /** Of its database. */
  readonly url: string;
}

/** Starts two workers on a database of their own. */
async function start(
  { onTestFinished }: TestContext,
  environment: Record<string, string> = {},
): Promise<Cluster> {
  const { url, drop } = await copyOnPostgres();
  onTestFinished(drop);
  const program = await startProgram({
    DATABASE_URL: url,
    WORKERS: '2',
    POOL_SIZE: '2',
    ...environment,
  });
  onTestFinished(async () => {
    await program.stop('SIGKILL');
  });
  return { program, url };
}

/** Counts the connections of gateways to a database. */
async function countConnections(url: string): Promise<number> {
  const rows = await runSql(
    url,
    `select from pg_stat_activity
     where application_name = 'pet-store-gateway' and datname = current_database()`,
  );
  return rows.length;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The process ids of the workers. */
function workersOf({ process: { pid } }: Program): number[] {
  const pids = execFileSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' });
  return pids.trim().split('\n').map(Number);
}

const metricsStatus = async ({ url }: Program): Promise<number> =>
  (await fetch(`${url}/metrics`)).status;

// Most of their time the tests wait.
describe.concurrent('a gateway with WORKERS=2', { timeout: 120_000 }, () => {
  it('runs two processes on one port and replaces one that dies', async (context) => {
    const { expect } = context;
    const { program, url } = await start(context);
    const [victim = 0, survivor] = workersOf(program);
    expect(survivor).toBeDefined();
    await Promise.all(Array.from({ length: 60 }, () => ask(program, '{ pets { totalCount } }')));

    process.kill(victim, 'SIGKILL');
    await program.logged(new RegExp(`^Worker ${victim} died: another one takes its place.$`));
    expect((await fetch(`${program.url}/health`)).status).toBe(200);
    await vi.waitFor(() => expect(workersOf(program)).toHaveLength(2), WAIT);
    expect(workersOf(program)).toContain(survivor);

    const { port } = new URL(program.url);
    const second = spawnProgram('main', { DATABASE_URL: url, WORKERS: '2', PORT: port });
    expect(await second.end).toBe(1);
    expect(second.messages).toContain('PORT is in use by another program: choose another.');

    expect(program.messages.filter((line) => line.startsWith('Listening'))).toHaveLength(1);
    expect(await program.stop('SIGINT')).toBe(0);
    await vi.waitFor(async () => expect(await countConnections(url)).toBe(0), WAIT);
  });

  it('returns the sum of both from /metrics, or 503 while one does not respond', async (context) => {
    const { expect } = context;
    const { program } = await start(context);
    // Until both have started, one of them may not respond to the other in time.
    await vi.waitFor(async () => expect(await metricsStatus(program)).toBe(200), WAIT);
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
      expect(sumOf(samples, 'database_pool_total')).toBe(2);
      expect(sumOf(samples, 'dataloader_batch_size_count')).toBe(20);
    }

    const [frozen = 0] = workersOf(program);
    process.kill(frozen, 'SIGSTOP');
    // The frozen process never responds to the one that it is given.
    const given = new AbortController();
    const scrapes = Array.from({ length: 4 }, () =>
      fetch(`${program.url}/metrics`, { signal: given.signal }),
    );
    const response = await Promise.any(scrapes);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: 'SERVICE_UNAVAILABLE', status: 503 });
    process.kill(frozen, 'SIGKILL');
    given.abort();
    await Promise.allSettled(scrapes);
    await vi.waitFor(async () => expect(await metricsStatus(program)).toBe(200), WAIT);
    expect(await program.stop()).toBe(0);
  });

  it('waits longer before each restart of workers that cannot start, until they can', async (context) => {
    const { expect } = context;
    const { program, url } = await start(context);
    const workers = workersOf(program);
    await runSql(url, 'alter table _prisma_migrations rename to gone');
    for (const worker of workers) process.kill(worker, 'SIGKILL');
    const deaths = () => program.entries.filter(({ msg }) => /^Worker \d+ died/.test(msg));
    await vi.waitFor(() => expect(deaths()).toHaveLength(4), WAIT);
    await runSql(url, 'alter table gone rename to _prisma_migrations');
    // Two workers at a time; what comes between is a pause and a start.
    const [first = 0, second = 0] = deaths()
      .filter((_death, index) => index % 2 === 1)
      .map(({ time }) => Date.parse(String(time)));
    expect(second - first).toBeGreaterThan(900);
    await vi.waitFor(async () => expect(await metricsStatus(program)).toBe(200), WAIT);
    expect(Date.now() - second).toBeGreaterThan(1900);
    expect(await program.stop()).toBe(0);
  });

  it('stops at once on a second signal', async (context) => {
    const { expect } = context;
    const { program } = await start(context, { STOP_DELAY_MS: '60000' });
    const workers = workersOf(program);
    program.process.kill('SIGTERM');
    await program.logged(/^Stopping\.$/);
    const begin = performance.now();
    expect(await program.stop()).toBe(1);
    expect(performance.now() - begin).toBeLessThan(30_000);
    await vi.waitFor(() => expect(workers.filter(isAlive)).toEqual([]), WAIT);
  });

  it('answers open requests when its primary process is killed, and then ends', async (context) => {
    const { expect } = context;
    const { program, url } = await start(context);
    const workers = workersOf(program);
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
  it('migrate it once and fill one sample store', async ({ expect }) => {
    const { url, drop } = await copyOnPostgres();
    const server = new URL(url);
    server.pathname = '/postgres';
    const empty = await createDatabaseOn(server.href);
    const programs = await Promise.all(
      Array.from({ length: 3 }, () => startProgram({ DATABASE_URL: empty, SAMPLE_STORE: 'true' })),
    );
    const messages = programs.flatMap((program) => program.messages);
    const applied = messages.filter((message) => message.startsWith('Applied migration'));
    expect(applied.length).toBe(new Set(applied).size);
    expect(applied.length).toBeGreaterThan(1);
    expect(messages.filter((message) => message === 'Filled the sample store.')).toHaveLength(1);
    for (const program of programs) {
      expect(await ask(program, '{ categories { totalCount } }')).toEqual({
        categories: { totalCount: 10 },
      });
      expect(await program.stop()).toBe(0);
    }
    await dropDatabaseOn(server.href, empty);
    await drop();
  });
});
