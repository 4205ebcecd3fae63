import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Daemon, startDaemon } from './daemon.ts';
import { findUser } from './postgres-programs.ts';
import { pidFileIn, runSql, signalServer } from './postgres.ts';
import { isAlive } from './program.ts';
import { type Proxy, startTcpProxy } from './proxies.ts';
import { until } from './until.ts';

// Debian's packages have the programs of PostgreSQL, with pg_basebackup and pg_rewind, in a folder for each version.
const INSTALLED = '/usr/lib/postgresql';
const [VERSION] = existsSync(INSTALLED) ? readdirSync(INSTALLED).toSorted().toReversed() : [];

export const hasServer = VERSION !== undefined;

const PASSWORD = 'store';

const IS_PRIMARY = 'select not pg_is_in_recovery() as value';

/** Returns the URL of the database that the cluster creates, at a port of this machine. */
export const toStoreUrl = (port: number): string =>
  `postgresql://store:${PASSWORD}@127.0.0.1:${port}/store`;

/** How the other members reach a server and its Patroni, and how that Patroni reaches etcd. */
export interface Links {
  readonly server: Proxy;
  readonly api: Proxy;
  readonly etcd: Proxy;
}

/** Starts the links of a member, whose server and Patroni listen on these ports. */
export async function startLinks(etcd: string, ports: readonly [number, number]): Promise<Links> {
  const [server, api, ofEtcd] = await Promise.all(
    [...ports.map((port) => `http://127.0.0.1:${port}`), etcd].map((url) => startTcpProxy([url])),
  );
  return { server, api, etcd: ofEtcd } as Links;
}

/** The states of a server that follows the primary, or is the primary. */
const UP = ['running', 'streaming'];

/** A PostgreSQL server and the Patroni that runs it. */
export class Member {
  readonly name: string;
  readonly url: string;
  readonly api: string;
  readonly port: number;
  /** Each with its usual targets. */
  readonly #links: readonly (readonly [Proxy, readonly string[]])[];
  readonly #dataFolder: string;
  readonly #start: () => Promise<Daemon>;
  #daemon: Daemon | undefined;

  constructor(name: string, folder: string, links: Links, ports: readonly [number, number]) {
    const [port, apiPort] = ports;
    this.#links = Object.values(links).map((link: Proxy) => [link, link.targets] as const);
    this.name = name;
    this.port = port;
    this.url = toStoreUrl(port);
    this.api = `http://127.0.0.1:${apiPort}`;
    this.#dataFolder = join(folder, name);
    const env = {
      PATH: `/usr/bin:/bin`,
      PATRONI_NAME: name,
      // Through a proxy, Patroni does not learn etcd's own address.
      PATRONI_ETCD_PROXY: links.etcd.url,
      PATRONI_RESTAPI_LISTEN: `127.0.0.1:${apiPort}`,
      PATRONI_RESTAPI_CONNECT_ADDRESS: new URL(links.api.url).host,
      PATRONI_POSTGRESQL_LISTEN: `127.0.0.1:${port}`,
      PATRONI_POSTGRESQL_CONNECT_ADDRESS: new URL(links.server.url).host,
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

  async start(): Promise<void> {
    this.#daemon = await this.#start();
  }

  /** Kills Patroni and all processes of the server at the same time, like a power failure. */
  async kill(): Promise<void> {
    const daemon = this.#daemon;
    if (!daemon) return;
    this.#daemon = undefined;
    daemon.process.kill('SIGKILL');
    const ended = daemon.ended.then(() => true);
    // Patroni may have just started the server, which does not have a file with its process id yet.
    const isKilled = (): Promise<boolean> => {
      this.#signalServer('KILL');
      return Promise.race([ended, sleep(50, false)]);
    };
    await until(() => `${this.name} has ended`, isKilled);
    // The file remains, and its process id may soon belong to another program.
    rmSync(this.#pidFile, { force: true });
  }

  async stop(): Promise<void> {
    await this.kill();
    await Promise.all(this.#links.map(([link]) => link.close()));
  }

  /** Suspends Patroni and all processes of the server until thaw(). */
  freeze(): void {
    this.#signalAll('STOP');
  }

  thaw(): void {
    this.#signalAll('CONT');
  }

  /** Cuts the member off from etcd and from the other members, but not from HAProxy and the gateways. */
  cutOff(): void {
    for (const [link] of this.#links) {
      link.targets = [];
      link.cutAll();
    }
  }

  rejoin(): void {
    for (const [link, targets] of this.#links) link.targets = targets;
  }

  /** Sets how the whole cluster replicates from now on. */
  setSynchronous = (isSynchronous: boolean): Promise<void> =>
    this.#send('PATCH', '/config', { synchronous_mode: isSynchronous });

  /** Makes another server the primary, as an operator does. Ends when Patroni has done so. */
  switchOver = (): Promise<void> => this.#send('POST', '/switchover', { leader: this.name });

  async #send(method: string, path: string, params: object): Promise<void> {
    const response = await fetch(this.api + path, { method, body: JSON.stringify(params) });
    if (!response.ok) throw new Error(await response.text());
  }

  log(): string {
    return this.#daemon?.log() ?? '';
  }

  /** Whether the server accepts writes, whatever Patroni says. */
  async isPrimary(): Promise<boolean> {
    const rows = await runSql(this.url, IS_PRIMARY).catch(() => []);
    return rows[0]?.['value'] === true;
  }

  /** Returns the roles that the servers have for Patroni, and the states of those that do not follow the primary. */
  async roles(): Promise<string[]> {
    const response = await fetch(`${this.api}/cluster`, { signal: AbortSignal.timeout(1000) });
    const { members } = (await response.json()) as { members: { role: string; state: string }[] };
    return members.map(({ role, state }) => (UP.includes(state) ? role : state)).toSorted();
  }

  #signalAll(signal: 'STOP' | 'CONT'): void {
    this.#daemon?.process.kill(`SIG${signal}`);
    this.#signalServer(signal);
  }

  #signalServer(signal: 'KILL' | 'STOP' | 'CONT'): void {
    if (!existsSync(this.#pidFile)) return;
    const pid = parseInt(readFileSync(this.#pidFile, 'utf8'), 10);
    if (isAlive(pid)) signalServer(this.#dataFolder, signal);
  }

  get #pidFile(): string {
    return pidFileIn(this.#dataFolder);
  }
}
