import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { type Daemon, startDaemon } from './daemon.ts';
import { findUser } from './postgres-programs.ts';
import { runSql, signalServer } from './postgres.ts';

// Debian's packages have the programs of PostgreSQL, with pg_basebackup and pg_rewind, in a folder for each version.
const INSTALLED = '/usr/lib/postgresql';
const [VERSION] = existsSync(INSTALLED) ? readdirSync(INSTALLED).toSorted().toReversed() : [];

export const hasServer = VERSION !== undefined;

const PASSWORD = 'store';

export const IS_PRIMARY = 'select not pg_is_in_recovery() as value';

/** Returns the URL of the database that the cluster creates, at a port of this machine. */
export const toStoreUrl = (port: number): string =>
  `postgresql://store:${PASSWORD}@127.0.0.1:${port}/store`;

/** What Patroni's REST API says about a server. */
interface State {
  readonly role: string;
  readonly state: string;
}

/** A PostgreSQL server and the Patroni that runs it. */
export class Member {
  readonly name: string;
  /** The URL of the server's database `store`. */
  readonly url: string;
  /** The URL of Patroni's REST API. */
  readonly api: string;
  readonly port: number;
  readonly #dataFolder: string;
  readonly #start: () => Promise<Daemon>;
  #daemon: Daemon | undefined;

  constructor(name: string, folder: string, etcd: string, ports: readonly [number, number]) {
    const [port, apiPort] = ports;
    this.name = name;
    this.port = port;
    this.url = toStoreUrl(port);
    this.api = `http://127.0.0.1:${apiPort}`;
    this.#dataFolder = join(folder, name);
    const env = {
      PATH: `/usr/bin:/bin`,
      PATRONI_NAME: name,
      PATRONI_ETCD3_HOST: new URL(etcd).host,
      PATRONI_RESTAPI_LISTEN: `127.0.0.1:${apiPort}`,
      PATRONI_RESTAPI_CONNECT_ADDRESS: `127.0.0.1:${apiPort}`,
      PATRONI_POSTGRESQL_LISTEN: `127.0.0.1:${port}`,
      PATRONI_POSTGRESQL_CONNECT_ADDRESS: `127.0.0.1:${port}`,
      PATRONI_POSTGRESQL_DATA_DIR: this.#dataFolder,
      PATRONI_POSTGRESQL_BIN_DIR: join(INSTALLED, VERSION ?? '', 'bin'),
      PATRONI_POSTGRESQL_PGPASS: join(folder, `${name}.pgpass`),
      PATRONI_SUPERUSER_USERNAME: 'store',
      PATRONI_SUPERUSER_PASSWORD: PASSWORD,
      PATRONI_REPLICATION_USERNAME: 'replicator',
      PATRONI_REPLICATION_PASSWORD: PASSWORD,
    };
    const options = { ...findUser(), cwd: folder, env };
    this.#start = () =>
      startDaemon(
        'patroni',
        [join(folder, 'patroni.yaml')],
        /the leader with the lock|a secondary, and following/,
        options,
      );
  }

  /** Starts Patroni, and waits until its server is the primary or follows it. */
  async start(): Promise<void> {
    this.#daemon = await this.#start();
  }

  /** Kills Patroni and all processes of the server at the same time, like a power failure. */
  async kill(): Promise<void> {
    if (!this.#daemon) return;
    this.#signalAll('KILL');
    await this.#daemon.ended;
    this.#daemon = undefined;
    // The file remains, and its process id may soon belong to another program.
    rmSync(join(this.#dataFolder, 'postmaster.pid'), { force: true });
  }

  /** Suspends Patroni and all processes of the server until thaw(). */
  freeze(): void {
    this.#signalAll('STOP');
  }

  thaw(): void {
    this.#signalAll('CONT');
  }

  /** Makes another server the primary, as an operator does. Ends when Patroni has done so. */
  async switchOver(): Promise<void> {
    const body = JSON.stringify({ leader: this.name });
    const response = await fetch(`${this.api}/switchover`, { method: 'POST', body });
    if (!response.ok) throw new Error(await response.text());
  }

  /** Returns Patroni's log since its last start. */
  log(): string {
    return this.#daemon?.log() ?? '';
  }

  /** Whether the server accepts writes, whatever Patroni says. */
  async isPrimary(): Promise<boolean> {
    const rows = await runSql(this.url, IS_PRIMARY).catch(() => []);
    return rows[0]?.['value'] === true;
  }

  /** Returns what Patroni says; undefined if it does not respond. */
  async state(): Promise<State | undefined> {
    try {
      const response = await fetch(`${this.api}/patroni`, { signal: AbortSignal.timeout(1000) });
      return (await response.json()) as State;
    } catch {
      return undefined;
    }
  }

  #signalAll(signal: 'KILL' | 'STOP' | 'CONT'): void {
    const { process: patroni } = this.#daemon ?? {};
    patroni?.kill(`SIG${signal}`);
    if (existsSync(join(this.#dataFolder, 'postmaster.pid')))
      signalServer(this.#dataFolder, signal);
  }
}
