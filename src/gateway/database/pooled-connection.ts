import { Socket } from 'node:net';

import pLimit from 'p-limit';
import type { Client, ClientBase } from 'pg';

import type { Config } from '../config/config.ts';
import { addWait } from '../telemetry/request-log.ts';
import { PoolExhausted } from './database-errors.ts';
import type { TransactionRunner } from './driver.ts';
import { onlyRow, type RunOptions } from './session.ts';

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
  /** The names of the prepared statements, by SQL text. */
  readonly #names = new Map<string, string>();
  #prepared = 0;
  #length = 0;

  /** Returns the name of a prepared statement. PostgreSQL reuses the plan of a named statement. */
  nameOf(text: string): string {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    this.#prepared += 1;
    const name = `s${this.#prepared}`;
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

/**
 * Returns a runner in which writes leave connections of the pool for reads, and the number of writes that wait. A write
 * rejects with PoolExhausted if it waits longer than for a connection.
 */
export function limitWrites(runner: TransactionRunner, config: Config) {
  const limit = pLimit(Math.ceil(config.poolSize * (1 - PART_FOR_READS)));
  const inTurn = <Result>(write: () => Promise<Result>): Promise<Result> =>
    new Promise((resolve, reject) => {
      const start = performance.now();
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        reject(new PoolExhausted(config, new Error('Other writes took too long.')));
      }, config.connectTimeoutMs);
      void limit(async () => {
        if (isLate) return;
        clearTimeout(timer);
        addWait('poolMs', start);
        await write().then(resolve, reject);
      });
    });
  const limited: TransactionRunner = {
    run: <Row>(text: string, values: unknown[], options: RunOptions) => {
      const run = () => runner.run<Row>(text, values, options);
      return options.writes ? inTurn(run) : run();
    },
    transaction: (work) => inTurn(() => runner.transaction(work)),
  };
  return { runner: limited, countWaiting: (): number => limit.pendingCount };
}
