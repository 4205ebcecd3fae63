import { execFileSync } from 'node:child_process';
import { once } from 'node:events';

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

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

let url: string;
let drop: () => Promise<void>;
beforeAll(async () => {
  ({ url, drop } = await copyOnPostgres());
});
afterAll(() => drop());
afterEach(killPrograms);

/** The gateways' processes that the database knows. */
const sessions = () =>
  runSql(
    url,
    `select pid from pg_stat_activity
     where application_name = 'pet-store-gateway' and datname = current_database()`,
  );

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The process ids of the workers. */
function workersOf({ process: { pid } }: Program): number[] {
  return execFileSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map(Number);
}

const start = (environment = {}) =>
  startProgram({ DATABASE_URL: url, WORKERS: '2', POOL_SIZE: '2', ...environment });

describe('WORKERS=2', { timeout: 60_000 }, () => {
  it('runs two processes on one port, each replaced if it dies', async () => {
    const program = await start();
    const [victim = 0, survivor] = workersOf(program);
    expect(survivor).toBeDefined();
    await Promise.all(Array.from({ length: 60 }, () => ask(program, '{ pets { totalCount } }')));

    process.kill(victim, 'SIGKILL');
    const message = `Worker ${victim} died: another one takes its place.`;
    await expect.poll(() => program.messages, { timeout: 20_000 }).toContain(message);
    expect((await fetch(`${program.url}/health`)).status).toBe(200);
    await expect.poll(() => workersOf(program).length, { timeout: 20_000 }).toBe(2);
    expect(workersOf(program)).toContain(survivor);

    const { port } = new URL(program.url);
    const second = spawnProgram('main', { DATABASE_URL: url, WORKERS: '2', PORT: port });
    expect(await second.end).toBe(1);
    expect(second.messages).toContain('PORT is in use by another program: choose another.');

    expect(program.messages.filter((line) => line.startsWith('Listening'))).toHaveLength(1);
    expect(await program.stop('SIGINT')).toBe(0);
    await expect.poll(sessions, { timeout: 20_000 }).toEqual([]);
  });

  it('answers a scrape with the sum of both processes, whichever is asked', async () => {
    const program = await start();
    // Each on a connection of its own, which the primary process gives to either in turn.
    const headers = { connection: 'close', 'user-agent': 'shop/1' };
    // Until both have started one of them may not answer the other's scrape in time.
    const status = async () => (await fetch(`${program.url}/metrics`)).status;
    await expect.poll(status, { timeout: 30_000 }).toBe(200);
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
    expect(await program.stop()).toBe(0);
  });

  it('answers a scrape with 503 while a process does not answer, and again once another took its place', async () => {
    const program = await start();
    const [frozen = 0] = workersOf(program);
    process.kill(frozen, 'SIGSTOP');
    // The frozen process never answers the one that it is given.
    const given = new AbortController();
    const scrapes = Array.from({ length: 4 }, () =>
      fetch(`${program.url}/metrics`, { signal: given.signal }),
    );
    const answer = await Promise.any(scrapes);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ code: 'SERVICE_UNAVAILABLE', status: 503 });
    process.kill(frozen, 'SIGKILL');
    given.abort();
    const status = async () => (await fetch(`${program.url}/metrics`)).status;
    await expect.poll(status, { timeout: 20_000 }).toBe(200);
    await expect.poll(() => workersOf(program).length, { timeout: 20_000 }).toBe(2);
    expect(await program.stop()).toBe(0);
  });

  it('ends with a sentence where no worker can start any more, each try later than the last', async () => {
    const program = await start();
    await runSql(url, 'alter table _prisma_migrations rename to gone');
    for (const worker of workersOf(program)) process.kill(worker, 'SIGKILL');
    expect(await program.end).toBe(1);
    await runSql(url, 'alter table gone rename to _prisma_migrations');
    expect(program.messages.at(-1)).toBe(
      'No worker stays alive: the last 9 died soon after their start. Giving up.',
    );
    const deaths = program.entries.filter(({ msg }) => /^Worker \d+ died/.test(msg));
    expect(deaths).toHaveLength(8);
    // Each worker's at a time; what came between was a start and the pause before it.
    const [, second = 0, third = 0, fourth = 0] = deaths
      .filter((_death, index) => index % 2 === 1)
      .map(({ time }) => Date.parse(String(time)));
    expect(third - second).toBeGreaterThan(1900);
    expect(fourth - third).toBeGreaterThan(3900);
  });

  it('stops at once on a second signal', async () => {
    const program = await start({ STOP_DELAY_MS: '60000' });
    const workers = workersOf(program);
    program.process.kill('SIGTERM');
    await expect.poll(() => program.messages, { timeout: 20_000 }).toContain('Stopping.');
    const begin = Date.now();
    expect(await program.stop()).toBe(1);
    expect(Date.now() - begin).toBeLessThan(10_000);
    await expect.poll(() => workers.filter(isAlive), { timeout: 20_000 }).toEqual([]);
  });

  it('answers what is open when the first process is killed', async () => {
    const program = await start();
    const [category] = await runSql(
      url,
      `insert into categories (name) values ('Cats') returning id`,
    );
    const unlock = await holdLock(url, 'lock table categories in access exclusive mode');
    const open = ask(program, `{ category(id: "${String(category?.['id'])}") { name } }`);
    await expect.poll(() => countLockWaits(url), { timeout: 20_000 }).toBe(1);
    program.process.kill('SIGKILL');
    await once(program.process, 'exit');
    await unlock();
    expect(await open).toEqual({ category: { name: 'Cats' } });
    await expect.poll(async () => (await sessions()).length, { timeout: 20_000 }).toBe(0);
  });

  it('leaves no worker behind when the first process is killed', async () => {
    const program = await start();
    const workers = workersOf(program);
    await program.stop('SIGKILL');
    await expect.poll(() => workers.filter(isAlive), { timeout: 20_000 }).toEqual([]);
  });
});

describe('gateways that start at once on an empty database', { timeout: 60_000 }, () => {
  it('migrate it once and fill one sample store', async () => {
    const server = new URL(url);
    server.pathname = '/postgres';
    const empty = await createDatabaseOn(server.href);
    const programs = await Promise.all(
      Array.from({ length: 4 }, () => startProgram({ DATABASE_URL: empty, SAMPLE_STORE: 'true' })),
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
  });
});
