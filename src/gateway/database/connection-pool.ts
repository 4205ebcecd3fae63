import { randomBytes } from 'node:crypto';
import { Socket } from 'node:net';

import { Client, type ClientBase, type ClientConfig, Pool, type PoolClient } from 'pg';

import type { Config } from '../config/config.ts';
import { NAME } from '../config/version.ts';
import { addWait } from '../telemetry/request-log.ts';
import type { AbandonedStatements } from './abandoned-statements.ts';
import { isRefused, keepsConnection, NothingWritten, PoolExhausted } from './database-errors.ts';
import { FairQueue } from './fair-queue.ts';
import type { Recipient } from './recipient.ts';
import { onlyRow } from './session.ts';

export const toClientConfig = (url: string, { connectTimeoutMs }: Config): ClientConfig => ({
  connectionString: url,
  application_name: NAME,
  connectionTimeoutMillis: connectTimeoutMs,
  keepAlive: true,
  // The connection that listens is idle, and some networks forget such connections after minutes.
  keepAliveInitialDelayMillis: 10_000,
});

// A prepared statement takes 50 to 100 KiB in its connection's server process, and a long statement up to 150 times its
// length. pg does not deallocate any while the connection is open.
const MAX_PREPARED = 100;
const MAX_PREPARED_LENGTH = 100_000;

/**
 * Sets how long a connection may be silent in both directions before it is closed; 0 means forever. The `query_timeout`
 * of pg 8 would keep the rows of each result in memory for longer (PostgresServer.#send).
 */
export function limitSilence(
  { connection: { stream } }: Pick<Client, 'connection'>,
  ms: number,
): void {
  if (stream instanceof Socket) stream.setTimeout(ms);
}

// The identity holds until the server restarts. Behind a proxy, servers can have the same address.
const SERVER_SQL = `SELECT pg_is_in_recovery() AS "isStandby", concat(inet_server_addr(), ':',
  inet_server_port(), ' ', extract(epoch FROM pg_postmaster_start_time())) AS "identity"`;

/**
 * Returns the identity of the server behind a new connection.
 * @throws Error if the server is a standby: after a failover, a stale route can lead to the former primary
 */
export async function requirePrimary(client: ClientBase, address: string): Promise<string> {
  const { rows } = await client.query<{ isStandby: boolean; identity: string }>(SERVER_SQL);
  const { isStandby, identity } = onlyRow(rows);
  if (isStandby) throw new Error(`${address} leads to a standby, which accepts no writes`);
  return identity;
}

/** What is known about a connection: its server and its prepared statements. */
export class PooledConnection {
  /** Identifies the server; undefined until the session is set up, and for replicas. */
  identity: string | undefined;
  // If a pooler mixes up connections, no statement is run in place of another one.
  readonly #prefix = randomBytes(8).toString('hex');
  /** The names of the prepared statements, by SQL text. */
  readonly #names = new Map<string, string>();
  #prepared = 0;
  #length = 0;

  /** Returns the name of a prepared statement. PostgreSQL reuses the plan of a named statement. */
  nameOf(text: string): string {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    this.#prepared += 1;
    const name = `${this.#prefix}_${this.#prepared}`;
    this.#names.set(text, name);
    this.#length += text.length;
    return name;
  }

  /** Makes all statements be prepared again, under other names. */
  forgetPlans(): void {
    this.#names.clear();
  }

  /** Whether so many statements are prepared that a new connection should replace this one. */
  get isFull(): boolean {
    return this.#prepared >= MAX_PREPARED || this.#length >= MAX_PREPARED_LENGTH;
  }
}

// Writes wait for each other's locks. Without a part of the pool for reads, reads would wait for the locks, too.
const PART_FOR_READS = 0.2;

// The error of pg-pool 3.14 if no connection becomes free in time.
const POOL_TIMEOUT = 'timeout exceeded when trying to connect';

// After a server has refused a connection, how long the pool opens no more.
const FULL_MS = 1000;

/** The error of connections that the gateway closes because of their server. */
export const ABORTED = new Error('Connection terminated: the server is currently not in use.');

interface PoolOptions {
  readonly clientConfig: ClientConfig;
  readonly setUp: (client: ClientBase) => Promise<void>;
  readonly isUsable: (client: PoolClient) => boolean;
  /** How long a connection in use may be silent. */
  readonly silenceMs: number;
  /** Whether to wait for an open connection if the server allows no more. */
  readonly waitsIfFull: boolean;
  /** Called when an idle connection is lost, or a connection can't be opened. */
  readonly onLoss: (error: Error) => void;
  /** Keeps the places of connections that were closed too early; undefined if the server can't be asked. */
  readonly abandoned: AbandonedStatements | undefined;
}

/** Returns the process id that the server announced for a connection, which pg's types leave out. */
export const pidOf = (client: ClientBase): number =>
  'processID' in client && typeof client.processID === 'number' ? client.processID : 0;

export interface PoolUse {
  readonly max: number;
  /** Open connections, in use or idle. */
  readonly total: number;
  readonly idle: number;
  /** Statements and transactions waiting for a connection. */
  readonly waiting: number;
}

/** The connections to a server, which are opened on demand. */
export class ConnectionPool {
  readonly #config: Config;
  readonly #options: PoolOptions;
  readonly #pool: Pool;
  /** The writes, which use at most a part of the pool's connections. */
  readonly #writes: FairQueue;
  /** Open connections, idle or in use. */
  #open = 0;
  #fullUntil = 0;

  constructor(config: Config, options: PoolOptions) {
    this.#config = config;
    this.#options = options;
    this.#writes = new FairQueue({
      concurrency: Math.ceil(config.poolSize * (1 - PART_FOR_READS)),
      maxWaitMs: config.connectTimeoutMs,
    });
    this.#pool = new Pool({
      ...options.clientConfig,
      max: config.poolSize,
      // oxlint-disable-next-line no-misused-promises -- pg awaits it, though its types don't say so
      onConnect: options.setUp,
    });
    this.#pool.on('connect', (client) => {
      this.#open += 1;
      client.once('end', () => void (this.#open -= 1));
    });
    this.#pool.on('error', options.onLoss);
    this.#pool.on('acquire', (client) => limitSilence(client, options.silenceMs));
    this.#pool.on('release', (_error, client) => limitSilence(client, 0));
  }

  /**
   * Runs `work` with a connection, and takes it back. Writes leave some connections for reads.
   * @throws NothingWritten if no connection can be opened, PoolExhausted if none becomes free
   */
  async lend<Result>(
    writes: boolean,
    work: (client: PoolClient) => Promise<Result>,
    recipient: Recipient | undefined,
  ): Promise<Result> {
    const start = performance.now();
    const endTurn = writes ? await this.#takeTurn(recipient?.callerKey ?? '') : () => {};
    const client = await this.#take()
      .catch((error: unknown) => {
        endTurn();
        throw error;
      })
      .finally(() => addWait(recipient?.requestLog, 'poolMs', start));
    let failure: unknown;
    try {
      return await work(client);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      const isUsable =
        (failure === undefined || keepsConnection(failure)) && this.#options.isUsable(client);
      this.#takeBack(client, writes, () => {
        client.release(!isUsable);
        endTurn();
      });
    }
  }

  get use(): PoolUse {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return {
      max: this.#config.poolSize,
      total: totalCount,
      idle: idleCount,
      waiting: waitingCount + this.#writes.waiting,
    };
  }

  async close(): Promise<void> {
    const ended = this.#pool.end();
    this.#options.abandoned?.freeAll();
    await ended;
  }

  /**
   * Waits until a write may take a connection. Returns the function to call once the connection is free, even if that is
   * after the statement was abandoned.
   * @throws PoolExhausted
   */
  #takeTurn(caller: string): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const turn = (): Promise<void> => new Promise((end) => resolve(end));
      this.#writes.run(caller, turn).catch(() => {
        reject(new PoolExhausted(this.#config, new Error('Other writes took too long.')));
      });
    });
  }

  #take(): Promise<PoolClient> {
    return this.#connect().catch((error: Error) => {
      if (error.message === POOL_TIMEOUT) throw new PoolExhausted(this.#config, error);
      if (!isRefused(error)) this.#options.onLoss(error);
      throw new NothingWritten(error);
    });
  }

  /**
   * Connects. If the server allows no more connections, it may wait for one that is open, as if the pool were smaller.
   */
  async #connect(): Promise<PoolClient> {
    const { options } = this.#pool;
    const { waitsIfFull, abandoned } = this.#options;
    const { poolSize, connectTimeoutMs } = this.#config;
    const start = performance.now();
    for (let isFirst = true; ; isFirst = false) {
      if (performance.now() > this.#fullUntil) options.max = poolSize;
      try {
        return await this.#pool.connect();
      } catch (error) {
        const now = performance.now();
        // At first, other connections may still be being opened.
        const canWait = (isFirst || this.#open > 0) && now - start < connectTimeoutMs;
        if (!waitsIfFull || !isRefused(error) || !canWait) throw error;
        this.#fullUntil = now + FULL_MS;
        // A closed connection counts as open until its end is noticed.
        const count = this.#open + (abandoned?.count ?? 0);
        options.max = Math.min(poolSize, Math.max(count, 1));
      }
    }
  }

  #takeBack(client: PoolClient, writes: boolean, free: () => void): void {
    const { abandoned } = this.#options;
    if (abandoned && client instanceof Client) {
      const { destroyed, errored } = client.connection.stream;
      // Connections are aborted if their server is no longer the one that would be asked.
      if (destroyed && errored !== ABORTED) {
        abandoned.add({ pid: pidOf(client), writes, free });
        return;
      }
    }
    free();
  }
}
