import { execFile, execSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { Client, type QueryResult } from 'pg';

import { readConfig } from '../../src/gateway/config/config.ts';
import { openPostgres } from '../../src/gateway/database/postgres.ts';
import { createLog, type Log } from '../../src/gateway/telemetry/log.ts';
import { MIGRATIONS } from '../../src/store/migrations.ts';
import { type Daemon, startDaemon } from './daemon.ts';
import { listen } from './listen.ts';
import { type PostgresPrograms, preparePrograms } from './postgres-programs.ts';

export async function freePort(): Promise<number> {
  const server = createServer();
  const { port } = new URL(await listen(server));
  await new Promise((resolve) => void server.close(resolve));
  return Number(port);
}

export async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

/** Starts a transaction on a new connection. */
export async function begin(url: string, sql: string): Promise<Client> {
  const client = await connect(url);
  await client.query(`begin; ${sql}`);
  return client;
}

/** Runs a statement and keeps its locks until the returned function is called. */
export async function holdLock(url: string, sql: string): Promise<() => Promise<void>> {
  const client = await begin(url, sql);
  return () => client.end();
}

const INITDB_FLAGS = [
  '--username=store',
  '--auth=password',
  '--encoding=UTF8',
  '--no-sync',
  // Tests connect thousands of times. Hashing the password 4096 times would be a quarter of the time for connecting.
  '--set=scram_iterations=1',
];
const LOCALE_FLAGS = ['--locale=C.UTF-8', '--lc-messages=C'];

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

/** Returns the file with the process id of the server that runs on a data folder. */
export const pidFileIn = (dataFolder: string): string => join(dataFolder, 'postmaster.pid');

/** Sends a signal to a running server and to every process that it started. */
export function signalServer(dataFolder: string, signal: 'KILL' | 'STOP' | 'CONT'): void {
  const [pid = ''] = readFileSync(pidFileIn(dataFolder), 'utf8').split('\n');
  // While the server is suspended, it starts no session that the list would miss; but a session may
  // end between being listed and being signalled.
  const each = `{ kill -${signal} $children 2>/dev/null || true; }`;
  const list = `children=$(pgrep -P ${pid} || true)`;
  execSync(`kill -STOP ${pid} && ${list} && ${each} && kill -${signal} ${pid}`);
}

/** A PostgreSQL server with its data in a folder. It does not run until start() is called. */
export class PostgresServer {
  readonly port: number;
  /** The URL of its database `postgres`. */
  readonly url: string;
  readonly dataFolder: string;
  readonly #start: () => Promise<Daemon>;
  #daemon: Daemon | undefined;

  constructor(
    dataFolder: string,
    port: number,
    { postgres, runAs }: PostgresPrograms,
    settings: readonly string[],
  ) {
    this.port = port;
    this.url = `postgresql://store:store@127.0.0.1:${port}/postgres`;
    this.dataFolder = dataFolder;
    const all = ['max_connections=300', 'unix_socket_directories=', ...settings];
    const args = ['-D', dataFolder, '-p', `${port}`, ...all.flatMap((one) => ['-c', one])];
    const options = { ...runAs, cwd: dirname(dataFolder) };
    this.#start = () =>
      startDaemon(postgres, args, /is ready to accept (read-only )?connections/, options);
  }

  /** Starts or restarts the server with the same data and port, and waits until it accepts connections. */
  async start(): Promise<void> {
    this.#daemon = await this.#start();
  }

  /** Shuts the server down as an operator does, and keeps its data. */
  async stop(): Promise<void> {
    this.#daemon?.process.kill('SIGINT');
    await this.#daemon?.ended;
  }

  /** Kills all processes at the same time, like a power failure. Connections break; with freeze() they only go silent. */
  async kill(): Promise<void> {
    if (existsSync(this.#pidFile)) signalServer(this.dataFolder, 'KILL');
    await this.#daemon?.ended;
    // The file remains, and its process id may soon belong to another program.
    rmSync(this.#pidFile, { force: true });
  }

  /** Suspends all its processes until thaw(). */
  freeze(): void {
    signalServer(this.dataFolder, 'STOP');
  }

  thaw(): void {
    signalServer(this.dataFolder, 'CONT');
  }

  log(): string {
    return this.#daemon?.log() ?? '';
  }

  get #pidFile(): string {
    return pidFileIn(this.dataFolder);
  }
}

/** A started server for the caller alone; remove() stops it and removes its data. */
export type OwnServer = PostgresServer & { remove(): Promise<void> };

export async function startPostgres(settings: readonly string[] = []): Promise<OwnServer> {
  const folder = await mkdtemp(join(tmpdir(), 'store-postgres-'));
  const programs = await preparePrograms(folder);
  const dataFolder = await createCluster(folder, programs);
  const server = new PostgresServer(dataFolder, await freePort(), programs, settings);
  await server.start();
  const remove = async (): Promise<void> => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  return Object.assign(server, { remove });
}

/** Runs SQL on a new connection and returns the rows of the last statement. */
export async function runSql(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  // The event can be ignored: if the server dies during the statement, the statement itself is rejected.
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

/** Makes commits on a server wait for the replicas with these names; if empty, for none. */
export async function setStandbys(url: string, names: string): Promise<void> {
  await runSql(url, `alter system set synchronous_standby_names = '${names}'`);
  await runSql(url, 'select pg_reload_conf()');
}

export async function countLockWaits(url: string): Promise<number> {
  const waiting = await runSql(
    url,
    `select pid from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return waiting.length;
}

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
  // Copying the files takes half the time of writing their pages to the write-ahead log.
  const copied = template
    ? ` template ${nameOf(template)} strategy file_copy`
    : ` encoding 'UTF8' template template0`;
  await runSql(server, `create database ${name}${copied}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** Migrates a database, with the variables of a gateway. */
export async function migratePostgres(
  url: string,
  environment: Readonly<Record<string, string>> = {},
  log: Log = createLog('error'),
): Promise<void> {
  const db = await openPostgres(MIGRATIONS, url, readConfig(environment), log);
  await db.close();
}

export async function createStoreOn(server: string): Promise<string> {
  const url = await createDatabaseOn(server);
  await migratePostgres(url);
  return url;
}

export async function dropDatabaseOn(server: string, url: string): Promise<void> {
  await runSql(server, `drop database ${nameOf(url)} with (force)`);
}
