import { execFileSync } from 'node:child_process';

import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';

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
  type LogEntry,
  type Program,
  spawnProgram,
  startProgram,
} from '../../support/program.ts';

afterAll(killPrograms);

const WAIT = { timeout: 30_000, interval: 50 };

interface Cluster {
  readonly program: Program;
  /** The URL of its database. */
  readonly url: string;
  remove(): Promise<void>;
}

/** Starts two workers on a database of their own. */
async function start(environment: Record<string, string> = {}): Promise<Cluster> {
  const { url, drop } = await copyOnPostgres();
  const program = await startProgram({
    DATABASE_URL: url,
    WORKERS: '2',
    POOL_SIZE: '2',
    ...environment,
  });
  const remove = async (): Promise<void> => {
    await program.stop('SIGKILL');
    await drop();
  };
  return { program, url, remove };
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

/** Returns the process ids of the workers. */
function findWorkers({ program }: Cluster): number[] {
  const pids = execFileSync('pgrep', ['-P', String(program.process.pid)], { encoding: 'utf8' });
  return pids.trim().split('\n').map(Number);
}

const findDeaths = ({ program }: Cluster): LogEntry[] =>
  program.entries.filter(({ msg }) => /^Worker \d+ died/.test(msg));

const metricsStatus = async ({ program }: Cluster): Promise<number> =>
  (await fetch(`${program.url}/metrics`)).status;

// Most of their time they wait, so the three gateways are tested at once.
const IN_ORDER = { concurrent: false };

describe.concurrent('a gateway with WORKERS=2', { timeout: 120_000 }, () => {
  let gateway: Cluster;
  beforeAll(async () => {
    gateway = await start();
  });
  afterAll(() => gateway.remove());

  it(
    'returns the sum of both from /metrics, or 503 while one does not respond',
    IN_ORDER,
    async () => {
      // Until both have started, one of them may not respond to the other in time.
      await vi.waitFor(async () => expect(await metricsStatus(gateway)).toBe(200), WAIT);
      // Each on a connection of its own, which the primary process gives to the workers in turn.
      const headers = { connection: 'close', 'user-agent': 'shop/1' };
      for (let count = 0; count < 20; count += 1)
        await fetch(`${gateway.program.url}/pets/1`, { headers });
      for (let count = 0; count < 4; count += 1) {
        const samples = await readMetrics(gateway.program);
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

      const [frozen = 0] = findWorkers(gateway);
      process.kill(frozen, 'SIGSTOP');
      // The frozen process never responds to the one that it is given.
      const given = new AbortController();
      const scrapes = Array.from({ length: 4 }, () =>
        fetch(`${gateway.program.url}/metrics`, { signal: given.signal }),
      );
      const response = await Promise.any(scrapes);
      expect(response.status).toBe(503);
      expect(await response.json()).toMatchObject({ code: 'SERVICE_UNAVAILABLE', status: 503 });
      process.kill(frozen, 'SIGKILL');
      given.abort();
      await Promise.allSettled(scrapes);
      await vi.waitFor(async () => expect(await metricsStatus(gateway)).toBe(200), WAIT);
    },
  );

  it('replaces a process that dies', IN_ORDER, async () => {
    await vi.waitFor(() => expect(findWorkers(gateway)).toHaveLength(2), WAIT);
    const [victim = 0, survivor] = findWorkers(gateway);
    await Promise.all(
      Array.from({ length: 60 }, () => ask(gateway.program, '{ pets { totalCount } }')),
    );

    process.kill(victim, 'SIGKILL');
    await gateway.program.logged(new RegExp(`^Worker ${victim} died: a replacement will start.$`));
    expect((await fetch(`${gateway.program.url}/health`)).status).toBe(200);
    await vi.waitFor(() => expect(findWorkers(gateway)).toHaveLength(2), WAIT);
    expect(findWorkers(gateway)).toContain(survivor);
  });

  it('uses one port, which a second gateway cannot use', IN_ORDER, async () => {
    const { port } = new URL(gateway.program.url);
    const second = spawnProgram('main', { DATABASE_URL: gateway.url, WORKERS: '2', PORT: port });
    expect(await second.end).toBe(1);
    expect(second.messages).toContain('PORT is in use by another program: choose another.');
    expect(gateway.program.messages.filter((line) => line.startsWith('Listening'))).toHaveLength(1);
  });

  it('closes its connections to the database when it stops', IN_ORDER, async () => {
    expect(await gateway.program.stop('SIGINT')).toBe(0);
    await vi.waitFor(async () => expect(await countConnections(gateway.url)).toBe(0), WAIT);
  });
});

describe.concurrent('a gateway whose workers cannot start', { timeout: 120_000 }, () => {
  let gateway: Cluster;
  beforeAll(async () => {
    gateway = await start({ STOP_DELAY_MS: '60000' });
  });
  afterAll(() => gateway.remove());

  it('waits longer before each restart, until they can', IN_ORDER, async () => {
    const workers = findWorkers(gateway);
    await runSql(gateway.url, 'alter table _prisma_migrations rename to gone');
    for (const worker of workers) process.kill(worker, 'SIGKILL');
    await vi.waitFor(() => expect(findDeaths(gateway)).toHaveLength(4), WAIT);
    await runSql(gateway.url, 'alter table gone rename to _prisma_migrations');
    // Two workers at a time; what comes between is a pause and a start.
    const [first = 0, second = 0] = findDeaths(gateway)
      .filter((_death, index) => index % 2 === 1)
      .map(({ time }) => Date.parse(String(time)));
    expect(second - first).toBeGreaterThan(900);
    await vi.waitFor(async () => expect(await metricsStatus(gateway)).toBe(200), WAIT);
    expect(Date.now() - second).toBeGreaterThan(1900);
  });

  it('stops at once on a second signal', IN_ORDER, async () => {
    const workers = findWorkers(gateway);
    gateway.program.process.kill('SIGTERM');
    await gateway.program.logged(/^Stopping\.$/);
    const begin = performance.now();
    expect(await gateway.program.stop()).toBe(1);
    expect(performance.now() - begin).toBeLessThan(30_000);
    await vi.waitFor(() => expect(workers.filter(isAlive)).toEqual([]), WAIT);
  });
});

describe.concurrent(
  'a gateway with WORKERS=2 whose primary process is killed',
  { timeout: 120_000 },
  () => {
    let gateway: Cluster;
    beforeAll(async () => {
      gateway = await start();
    });
    afterAll(() => gateway.remove());

    it('answers open requests and then ends', IN_ORDER, async () => {
      const workers = findWorkers(gateway);
      const [category] = await runSql(
        gateway.url,
        `insert into categories (name) values ('Cats') returning id`,
      );
      const unlock = await holdLock(gateway.url, 'lock table categories in access exclusive mode');
      const open = ask(gateway.program, `{ category(id: "${String(category?.['id'])}") { name } }`);
      await vi.waitFor(async () => expect(await countLockWaits(gateway.url)).toBe(1), WAIT);
      gateway.program.process.kill('SIGKILL');
      // The worker without a request ends at once.
      await vi.waitFor(() => expect(workers.filter(isAlive)).toHaveLength(1), WAIT);
      await unlock();
      expect(await open).toEqual({ category: { name: 'Cats' } });
      await vi.waitFor(() => expect(workers.filter(isAlive)).toEqual([]), WAIT);
      expect(await countConnections(gateway.url)).toBe(0);
    });
  },
);

describe('gateways that start at once on an empty database', { timeout: 120_000 }, () => {
  it('migrate it once and fill one sample store', async () => {
    const { server } = inject('emptyDatabase') as { server: string };
    const empty = await createDatabaseOn(server);
    const programs = await Promise.all(
      Array.from({ length: 3 }, () => startProgram({ DATABASE_URL: empty, SAMPLE_STORE: 'true' })),
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
