import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { Client } from 'pg';

import { copyServer } from './base-backup.ts';
import { type PostgresPrograms, preparePrograms } from './postgres-programs.ts';
import { createCluster, freePort, type Running, signalAll, startServer } from './postgres.ts';

/** One of several servers: the primary, or a standby that streams its log and answers queries. */
export interface ReplicatedServer {
  /** Its name in `cluster_name`, and in the `application_name` of `pg_stat_replication`. */
  readonly name: string;
  readonly port: number;
  /** The URL of its database `postgres`. */
  readonly url: string;
  /** Returns the URL, on this server, of a database of any of the servers. */
  urlOf(databaseUrl: string): string;

  /** Kills all its processes at once. Its connections break; those of freeze() are only silent. */
  kill(): Promise<void>;
  /**
   * Shuts it down. With `fast`, a primary first sends its whole log to the standbys that stream
   * from it; for a frozen one it waits up to 10 s.
   */
  stop(mode: 'fast' | 'immediate'): Promise<void>;
  /** Starts it again with its data: a primary that died is then a second primary, see rejoin(). */
  start(): Promise<void>;
  /** Suspends all its processes until thaw(). */
  freeze(): void;
  thaw(): void;

  /** Makes a standby a primary, and waits until it takes writes. */
  promote(): Promise<void>;
  /**
   * Lets a standby stream from another primary, and waits until it does, unless it is delayed.
   * Fails if it has received what that primary has not: it can only rejoin().
   */
  follow(primary: ReplicatedServer): Promise<void>;
  /** Makes it, in whatever state, a standby of a primary, with a new copy of its data. */
  rejoin(primary: ReplicatedServer): Promise<void>;
  /** Ends the streaming to a standby, which goes on answering queries, until reconnect(). */
  cutOff(): Promise<void>;
  reconnect(): Promise<void>;
  /** Lets a standby replay transactions only so long after their commit; 0 ends that. */
  setDelay(ms: number): Promise<void>;

  isInRecovery(): Promise<boolean>;
  /** Returns the end of its log: what a primary has written, or a standby received. */
  lsn(): Promise<string>;
  /** Returns how far a standby has replayed its log, and its queries see it. */
  replayedLsn(): Promise<string>;
  waitUntilReplayed(lsn: string): Promise<void>;
}

export interface Replication {
  /** The servers; the first one is the primary at the start. */
  readonly servers: readonly ReplicatedServer[];
  /** Returns a URL with several hosts, by default all, for a database of any of the servers. */
  multiHostUrl(databaseUrl: string, servers?: readonly ReplicatedServer[]): string;
  /**
   * Does what Patroni does when the primary is gone: promotes the one of the given standbys that
   * has received most, lets the others follow it, and returns it.
   */
  failOver(standbys: readonly ReplicatedServer[]): Promise<ReplicatedServer>;
  /** Kills all servers and removes their data. */
  stop(): Promise<void>;
}

/** No step takes longer, or it fails. */
const MAX_MS = 30_000;

async function within<Result>(promise: Promise<Result>, what: () => string): Promise<Result> {
  const timer = new AbortController();
  const late = sleep(MAX_MS, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`Not after ${MAX_MS} ms: ${what()}`);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
  }
}

async function until(what: () => string, isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + MAX_MS;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`Not after ${MAX_MS} ms: ${what()}`);
    await sleep(10);
  }
}

/** Runs a statement on a new connection and returns the only value of its result. */
async function ask<Value>(url: string, sql: string): Promise<Value> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: MAX_MS,
    query_timeout: MAX_MS,
  });
  // If the server dies meanwhile, the statement fails too: that is enough.
  client.on('error', () => {});
  await client.connect();
  try {
    const { rows } = await client.query<[Value]>({ text: sql, rowMode: 'array' });
    return rows[0]?.[0] as Value;
  } finally {
    await client.end();
  }
}

// The data of tests need not survive a crash of the machine. Without slots, any server can become
// the primary of any other: each keeps more of its log than the tests write.
const SETTINGS = [
  'fsync=off',
  'max_connections=300',
  'shared_buffers=32MB',
  'unix_socket_directories=',
  'wal_keep_size=512MB',
  // A fast stop waits so long for a standby that is frozen.
  'wal_sender_timeout=10s',
  'wal_retrieve_retry_interval=100ms',
];

/** What all servers of a replication share. */
interface Shared {
  readonly folder: string;
  readonly programs: PostgresPrograms;
  /** The arguments of each server, besides its own folder, port and name. */
  readonly args: readonly string[];
}

/** Starts and ends the processes of a server that has its data in a folder. */
function createProcesses({ folder, programs }: Shared, dataFolder: string, args: string[]) {
  const pidFile = join(dataFolder, 'postmaster.pid');
  let running: Running | undefined;
  const end = async (signal: (server: ChildProcess) => void): Promise<void> => {
    if (!running) return;
    const ending = running;
    signal(ending.server);
    await within(ending.ended, () => `a server ends\n${ending.recentLog()}`);
    running = undefined;
  };
  const killNow = (): void => {
    if (existsSync(pidFile)) signalAll(dataFolder, 'KILL');
  };
  return {
    start: async (): Promise<void> => {
      running = await within(startServer(programs, args, folder), () => 'a server starts');
      // One that was killed leaves it, and its process id may soon be that of another program.
      void running.ended.then(() => rmSync(pidFile, { force: true }));
    },
    stop: (signal: 'SIGINT' | 'SIGQUIT') => end((server) => void server.kill(signal)),
    kill: async (): Promise<void> => {
      if (running) await end(killNow);
      else killNow();
    },
    recentLog: () => running?.recentLog() ?? '',
  };
}

const CLEAN_UP = `
  read -r line
  for file in "$0"/*/postmaster.pid; do
    read -r pid < "$file" && kill -STOP "$pid" && kill -KILL $(pgrep -P "$pid") "$pid"
  done
  rm -rf "$0"`;

/**
 * Kills the servers in a folder and removes it when this process ends, however it does: Vitest
 * kills its workers, which then handle no event. The returned function ends that.
 */
function guard(folder: string): () => void {
  // It sees its input end. Ctrl-C must not end it first, so it is detached.
  const shell = spawn('sh', ['-c', CLEAN_UP, folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  shell.unref();
  (shell.stdin as Socket).unref();
  return () => shell.kill('SIGKILL');
}

/** Changes a setting of a running server. */
async function set(url: string, name: string, value: string): Promise<void> {
  await ask(url, `alter system set ${name} = '${value}'`);
  await ask(url, 'select pg_reload_conf()');
  // When new sessions have it, the server has told its other processes too.
  const setting = `select setting from pg_settings where name = '${name}'`;
  await until(
    () => `${name} is set`,
    async () => (await ask(url, setting)) === value,
  );
}

const connectionTo = (primary: ReplicatedServer): string =>
  `host=127.0.0.1 port=${primary.port} user=store password=store`;

/** The timeline that a primary writes: the start of the name of its file, in hexadecimal. */
const TIMELINE = `select ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int`;

async function follow(
  { name, url }: ReplicatedServer,
  primary: ReplicatedServer,
  recentLog: () => string,
): Promise<void> {
  await set(url, 'primary_conninfo', connectionTo(primary));
  // A standby begins to stream only when it has replayed what it has.
  if ((await ask(url, 'show recovery_min_apply_delay')) !== '0') return;
  // One that has received more than this primary is connected too, but not on its timeline.
  const timeline = await ask<string>(primary.url, TIMELINE);
  const isStreaming = `select exists (select from pg_stat_wal_receiver
    where status = 'streaming' and sender_port = ${primary.port} and received_tli = ${timeline})`;
  await until(
    () => `${name} follows ${primary.name}\n${recentLog()}`,
    () => ask(url, isStreaming),
  );
}

async function cutOff(url: string): Promise<void> {
  await set(url, 'primary_conninfo', '');
  await until(
    () => 'a standby is cut off',
    async () => {
      const receiver = await ask<number | undefined>(url, 'select pid from pg_stat_wal_receiver');
      if (receiver === undefined) return true;
      // A delayed standby does not end it before it has replayed what it has.
      spawnSync('kill', [String(receiver)]);
      return false;
    },
  );
}

/** Makes the data of a standby from that of its primary. */
async function makeStandby(
  { folder, programs: { runAs } }: Shared,
  name: string,
  primary: ReplicatedServer,
): Promise<void> {
  const dataFolder = join(folder, name);
  await rm(dataFolder, { recursive: true, force: true });
  await copyServer(primary.url, join(folder, primary.name), dataFolder);
  await writeFile(join(dataFolder, 'standby.signal'), '');
  const settings = `primary_conninfo = '${connectionTo(primary)}'\n`;
  await writeFile(join(dataFolder, 'postgresql.auto.conf'), settings);
  if (runAs.uid === undefined) return;
  await promisify(execFile)('chown', ['-R', `${runAs.uid}:${runAs.gid}`, dataFolder]);
}

const END_OF_LOG = `select case when pg_is_in_recovery()
  then greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())
  else pg_current_wal_lsn() end`;

/** Returns the URL of a database, on the servers at some ports. */
function urlAt(ports: readonly number[], databaseUrl: string): string {
  const { pathname, search } = new URL(databaseUrl);
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
  return `postgresql://store:store@${hosts}${pathname}${search}`;
}

/** Prepares a server, which has its data in the folder of its name; it is not started. */
async function createServer(shared: Shared, name: string): Promise<ReplicatedServer> {
  const port = await freePort();
  const url = `postgresql://store:store@127.0.0.1:${port}/postgres`;
  const dataFolder = join(shared.folder, name);
  const own = ['-D', dataFolder, '-p', `${port}`, '-c', `cluster_name=${name}`];
  const processes = createProcesses(shared, dataFolder, [...own, ...shared.args]);
  let source: ReplicatedServer | undefined;
  const server: ReplicatedServer = {
    name,
    port,
    url,
    urlOf: (databaseUrl) => urlAt([port], databaseUrl),
    kill: processes.kill,
    stop: (mode) => processes.stop(mode === 'fast' ? 'SIGINT' : 'SIGQUIT'),
    start: processes.start,
    freeze: () => signalAll(dataFolder, 'STOP'),
    thaw: () => signalAll(dataFolder, 'CONT'),
    promote: async () => {
      const promoted = await ask(url, `select pg_promote(wait_seconds => ${MAX_MS / 1000})`);
      if (promoted !== true) throw new Error(`${name} was not promoted.`);
    },
    follow: async (primary) => {
      source = primary;
      await follow(server, primary, processes.recentLog);
    },
    rejoin: async (primary) => {
      await processes.kill();
      await makeStandby(shared, name, primary);
      await processes.start();
      await server.follow(primary);
    },
    cutOff: () => cutOff(url),
    reconnect: async () => {
      if (!source) throw new Error(`${name} has followed no server.`);
      await follow(server, source, processes.recentLog);
    },
    setDelay: (ms) => set(url, 'recovery_min_apply_delay', String(ms)),
    isInRecovery: () => ask(url, 'select pg_is_in_recovery()'),
    lsn: () => ask(url, END_OF_LOG),
    replayedLsn: () => ask(url, 'select pg_last_wal_replay_lsn()'),
    waitUntilReplayed: (lsn) =>
      until(
        () => `${name} has replayed ${lsn}`,
        () => ask(url, `select pg_last_wal_replay_lsn() >= '${lsn}'`),
      ),
  };
  return server;
}

/** Returns a position of the log as a number. */
function toNumber(lsn: string): bigint {
  const [high = '', low = ''] = lsn.split('/');
  return BigInt(`0x${high}${low.padStart(8, '0')}`);
}

async function failOver(standbys: readonly ReplicatedServer[]): Promise<ReplicatedServer> {
  // From now on they receive nothing, not even from a primary that is only slow.
  await Promise.all(standbys.map((standby) => standby.cutOff()));
  const received = await Promise.all(
    standbys.map(async (standby) => ({ standby, end: toNumber(await standby.lsn()) })),
  );
  const [first, ...others] = received.toSorted((a, b) => (a.end < b.end ? 1 : -1));
  if (!first) throw new Error('There is no standby to promote.');
  const primary = first.standby;
  await primary.promote();
  await Promise.all(others.map(({ standby }) => standby.follow(primary)));
  return primary;
}

/**
 * Starts a primary and its standbys for the caller alone. If `synchronous`, a transaction is
 * acknowledged when the primary and one standby, whichever it is, have it: not while none streams.
 */
export async function startReplication({
  replicas = 2,
  synchronous = false,
  flags = [],
}: {
  replicas?: number;
  synchronous?: boolean;
  flags?: readonly string[];
} = {}): Promise<Replication> {
  const folder = await mkdtemp(join(tmpdir(), 'store-replication-'));
  const programs = await preparePrograms(folder);
  const settings = [...SETTINGS, ...(synchronous ? ['synchronous_standby_names=ANY 1 (*)'] : [])];
  const args = [...settings.flatMap((setting) => ['-c', setting]), ...flags];
  const shared = { folder, programs, args };
  const names = Array.from({ length: replicas + 1 }, (_one, index) => `server${index + 1}`);
  const servers = await Promise.all(names.map((name) => createServer(shared, name)));
  const release = guard(folder);
  const [primary, ...standbys] = servers;
  if (!primary) throw new Error('The number of replicas is 0 or more.');
  await rename(await createCluster(folder, programs), join(folder, primary.name));
  await primary.start();
  await Promise.all(standbys.map((standby) => standby.rejoin(primary)));
  return {
    servers,
    multiHostUrl: (databaseUrl, some = servers) =>
      urlAt(
        some.map(({ port }) => port),
        databaseUrl,
      ),
    failOver,
    stop: async () => {
      await Promise.all(servers.map((server) => server.kill()));
      await rm(folder, { recursive: true, force: true });
      release();
    },
  };
}
