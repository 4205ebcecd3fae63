import { type ChildProcess, execFile, execSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { Client, type QueryResult } from 'pg';

import { readConfig } from '../../src/config/config.ts';
import { migratePostgres } from '../../src/database/postgres.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { type PostgresPrograms, preparePrograms } from './postgres-programs.ts';

export interface TestServer {
  /** The URL of its database `postgres`. */
  readonly url: string;
  /** Shuts it down as an operator does and keeps its data. */
  halt(): Promise<void>;
  /** Kills all its processes at once, like a power failure. */
  kill(): Promise<void>;
  /** Starts it again with the same data and port. */
  resume(): Promise<void>;
  /** Suspends all its processes until thaw(). */
  freeze(): void;
  thaw(): void;
  readonly lock: typeof holdLock;
  /** Shuts it down and removes its data. */
  stop(): Promise<void>;
}

/** Returns a port of 127.0.0.1 that no program listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => void server.close(resolve));
  return port;
}

/** Sends a signal to the server of a data folder and to every process that it started. */
export function signalAll(dataFolder: string, signal: 'KILL' | 'STOP' | 'CONT'): void {
  const [pid = ''] = readFileSync(join(dataFolder, 'postmaster.pid'), 'utf8').split('\n');
  // While the server is suspended, it starts no session that the list would miss; but a session may
  // end between being listed and being signalled.
  const each = `{ kill -${signal} $children 2>/dev/null || true; }`;
  execSync(`kill -STOP ${pid} && children=$(pgrep -P ${pid}) && ${each} && kill -${signal} ${pid}`);
}

/** Runs a statement and keeps its locks until the returned function is called. */
export async function holdLock(url: string, sql: string): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`begin; ${sql}`);
  return () => client.end();
}

const INITDB_FLAGS = [
  '--username=store',
  '--auth=password',
  '--encoding=UTF8',
  '--no-sync',
  // Tests connect thousands of times: to hash the password 4096 times takes a quarter of that.
  '--set=scram_iterations=1',
];
const LOCALE_FLAGS = ['--locale=C.UTF-8', '--lc-messages=C'];

/** Creates the data folder of a server, in `folder`. */
export async function createCluster(folder: string, programs: PostgresPrograms): Promise<string> {
  const dataFolder = join(folder, 'data');
  const passwordFile = join(folder, 'password');
  await writeFile(passwordFile, 'store\n');
  const flags = [`--pgdata=${dataFolder}`, `--pwfile=${passwordFile}`];
  await promisify(execFile)(programs.initdb, [...flags, ...INITDB_FLAGS, ...LOCALE_FLAGS], {
    ...programs.runAs,
    cwd: folder,
  });
  return dataFolder;
}

/** A running server, and the promise of its end. */
export interface Running {
  readonly server: ChildProcess;
  readonly ended: Promise<unknown>;
  /** Returns the last 10,000 characters of its log. */
  recentLog(): string;
}

/** Starts a server and waits until it takes connections, as a standby for reading only. */
export async function startServer(
  { postgres, runAs }: PostgresPrograms,
  args: readonly string[],
  cwd: string,
): Promise<Running> {
  const server = spawn(postgres, args, { ...runAs, cwd, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise((resolve) => void server.once('close', resolve));
  let messages = '';
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject);
    server.on('close', () => reject(new Error(`PostgreSQL did not start:\n${messages}`)));
    server.stderr.setEncoding('utf8').on('data', (text: string) => {
      messages = (messages + text).slice(-10_000);
      if (/is ready to accept (read-only )?connections/.test(messages)) resolve();
    });
  });
  return { server, ended, recentLog: () => messages };
}

/** Starts a new PostgreSQL server for the caller alone. */
export async function startPostgres({
  flags = [],
}: { flags?: string[] } = {}): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'store-postgres-'));
  const programs = await preparePrograms(folder);
  const dataFolder = await createCluster(folder, programs);
  const port = await freePort();
  const settings = ['max_connections=300', 'unix_socket_directories='];
  const args = ['-D', dataFolder, '-p', `${port}`, ...settings.flatMap((one) => ['-c', one])];
  const start = (): Promise<Running> => startServer(programs, [...args, ...flags], folder);
  let running: Running | undefined = await start();
  const end = async (signal: () => void): Promise<void> => {
    if (!running) return;
    const { ended } = running;
    running = undefined;
    signal();
    await ended;
  };
  const halt = (): Promise<void> => {
    const server = running?.server;
    return end(() => void server?.kill('SIGINT'));
  };
  // If the tests end early, for instance by Ctrl-C.
  const killAtExit = (): void => {
    running?.server.kill('SIGQUIT');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once('exit', killAtExit);
  return {
    url: `postgresql://store:store@127.0.0.1:${port}/postgres`,
    halt,
    kill: () => end(() => signalAll(dataFolder, 'KILL')),
    resume: async () => {
      running = await start();
    },
    freeze: () => signalAll(dataFolder, 'STOP'),
    thaw: () => signalAll(dataFolder, 'CONT'),
    lock: holdLock,
    stop: async () => {
      await halt();
      process.off('exit', killAtExit);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Runs SQL on a new connection and returns the rows of the last statement. */
export async function runSql(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  // If the server dies meanwhile, the statement fails too: that is enough.
  client.on('error', () => {});
  await client.connect();
  try {
    const results: unknown = await client.query(sql);
    const last = (Array.isArray(results) ? results.at(-1) : results) as QueryResult;
    return last.rows;
  } finally {
    await client.end();
  }
}

/** Returns how many statements of a database wait for a lock. */
export async function countLockWaits(url: string): Promise<number> {
  const waiting = await runSql(
    url,
    `select pid from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return waiting.length;
}

/** Returns how many connections gateways have to a database. */
export async function countConnections(url: string): Promise<number> {
  const rows = await runSql(
    url,
    `select from pg_stat_activity
     where application_name = 'pet-store-gateway' and datname = current_database()`,
  );
  return rows.length;
}

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

/** Creates a database, as a copy of `template` if it is given, and returns its URL. */
export async function createDatabaseOn(server: string, template?: string): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const copied = template ? ` template ${nameOf(template)}` : ` encoding 'UTF8' template template0`;
  await runSql(server, `create database ${name}${copied}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** Creates a database, migrates it and returns its URL. */
export async function createStoreOn(server: string): Promise<string> {
  const url = await createDatabaseOn(server);
  await migratePostgres(url, readConfig({}), createLog('error'));
  return url;
}

export async function dropDatabaseOn(server: string, url: string): Promise<void> {
  await runSql(server, `drop database ${nameOf(url)} with (force)`);
}
