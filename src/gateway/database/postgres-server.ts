import {
  Client,
  type ClientBase,
  type ClientConfig,
  type CustomTypesConfig,
  defaults,
  Pool,
  type PoolClient,
  types,
} from 'pg';

import type { Config } from '../config/config.ts';
import { NAME } from '../config/version.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import { TYPE_PARSERS } from '../kinds/kinds.ts';
import type { Log } from '../telemetry/log.ts';
import { addWait, watchStatement } from '../telemetry/request-log.ts';
import {
  isConnectionLost,
  isPlanLost,
  isPoolTimeout,
  keepsConnection,
  NothingWritten,
  OutcomeUnknown,
  PoolExhausted,
} from './database-errors.ts';
import type { PoolUse } from './database-metrics.ts';
import type { TransactionRunner } from './database.ts';
import { limitSilence, PooledConnection } from './pooled-connection.ts';
import { RecipientGone } from './recipient.ts';
import { sessionSql } from './session-settings.ts';
import { onlyRow, type Runner, type RunOptions } from './session.ts';

/**
 * SQL that identifies the server behind a connection, until that server restarts. Behind proxies, servers can have the
 * same address.
 */
export const IDENTITY_SQL = `concat(inet_server_addr(), ':', inet_server_port(), ' ',
  extract(epoch FROM pg_postmaster_start_time()))`;

// PostgreSQL cancels slow statements itself. If it does not, the gateway gives up after this extra time.
const GRACE_MS = 1000;

// How often to check whether a recipient still needs the result of a statement. Shorter statements run to completion:
// cancelling closes the connection, which would cost more than the rest of the statement.
const CHECK_MS = 100;

const TYPES: CustomTypesConfig = {
  getTypeParser: (oid, format) => TYPE_PARSERS[oid] ?? types.getTypeParser(oid, format),
};

// With local time, pg would drop the seconds of historical UTC offsets.
defaults.parseInputDatesAsUTC = true;

const ignore = (): void => {};

/** The error of connections that `abort` closes. */
const ABORTED = new Error('Connection terminated: the server is currently not in use.');

/** Converts a parameter for pg, which would needlessly quote each bigint of an array. */
const toParameter = (value: unknown): unknown =>
  Array.isArray(value) && value.every((item) => typeof item === 'bigint')
    ? `{${value.join(',')}}`
    : value;

/** Whether a connection can be used after an error: its statement has ended, and no other statement has started. */
const isUsableAfter = (error: unknown): boolean =>
  error instanceof GatewayError || (error instanceof Error && keepsConnection(error));

export const READ = { planning: 'once', writes: false } as const;

/** A PostgreSQL server, or a load balancer in front of several servers, with a connection pool. Connects on demand. */
export class PostgresServer implements TransactionRunner {
  readonly url: string;
  /** Host and port, for the log and the metrics. */
  readonly name: string;
  /** The number of statements and transactions sent. */
  statements = 0;
  readonly #config: Config;
  readonly #log: Log;
  readonly #silenceMs: number;
  readonly #onLoss: () => void;
  readonly #clientConfig: ClientConfig;
  readonly #pool: Pool;
  readonly #connections = new Map<ClientBase, PooledConnection>();
  readonly #unpooled = new Set<Client>();
  #aborts = 0;

  /** `onLoss` is called when a connection is lost or can't be opened. */
  constructor(url: string, config: Config, log: Log, { graceMs = GRACE_MS, onLoss = ignore } = {}) {
    this.url = url;
    this.name = decodeURIComponent(new URL(url).host);
    this.#config = config;
    this.#log = log;
    this.#silenceMs = config.statementTimeoutMs + graceMs;
    this.#onLoss = onLoss;
    this.#clientConfig = {
      connectionString: url,
      application_name: NAME,
      connectionTimeoutMillis: config.connectTimeoutMs,
      keepAlive: true,
    };
    this.#pool = new Pool({
      ...this.#clientConfig,
      max: config.poolSize,
      // oxlint-disable-next-line no-misused-promises -- pg awaits it, though its types don't say so
      onConnect: (client) => this.#setUp(client),
    });
    this.#pool.on('error', (error) => {
      log.debug({ err: error }, 'An idle database connection was lost.');
      onLoss();
    });
    this.#pool.on('acquire', (client) => limitSilence(client, this.#silenceMs));
    this.#pool.on('release', (_error, client) => limitSilence(client, 0));
  }

  /**
   * Runs one statement.
   * @throws NothingWritten if the connection can't be opened, or is lost during a read; OutcomeUnknown if it is lost
   * during a write
   */
  async run<Row>(text: string, values: unknown[], options: RunOptions): Promise<Row[]> {
    const client = await this.#connect();
    const { recipient } = options;
    // Once the connection is closed, PostgreSQL cancels the statement if it can (session-settings.ts).
    const check = (): void => {
      if (recipient?.destroyed) client.connection.stream.destroy(new RecipientGone());
    };
    const timer = recipient && setInterval(check, CHECK_MS);
    let failure: unknown;
    try {
      if (recipient?.destroyed) throw new RecipientGone();
      return await this.#send<Row>(client, text, values, options);
    } catch (error) {
      failure = error;
      throw this.#toLossError(error, options.writes);
    } finally {
      clearInterval(timer);
      this.#release(client, failure);
    }
  }

  async transaction<Result>(work: (runner: Runner) => Promise<Result>): Promise<Result> {
    const client = await this.#connect();
    // If the connection is lost before COMMIT, nothing is written.
    let writes = false;
    let failure: unknown;
    try {
      await watchStatement(this.#log, 'BEGIN', client.query('BEGIN'));
      const result = await work({
        run: (text, values, options) => this.#send(client, text, values, options),
      });
      writes = true;
      const { command } = await watchStatement(this.#log, 'COMMIT', client.query('COMMIT'));
      // If a statement failed, PostgreSQL responds to COMMIT with ROLLBACK, which pg does not report as an error.
      if (command !== 'COMMIT') throw new Error('The transaction was rolled back.');
      return result;
    } catch (error) {
      failure = error;
      // A connection that can't be used again is closed without a ROLLBACK.
      if (isUsableAfter(error)) await client.query('ROLLBACK').catch(ignore);
      throw this.#toLossError(error, writes);
    } finally {
      this.#release(client, failure);
    }
  }

  /** Opens a connection outside the pool. */
  async connect(): Promise<Client> {
    const client = new Client(this.#clientConfig);
    this.#unpooled.add(client);
    client.once('end', () => this.#unpooled.delete(client));
    // If the connection fails between two statements, the next statement rejects.
    client.on('error', ignore);
    await client.connect();
    return client;
  }

  /** The identities of the connected servers. Behind a load balancer, there can be several. */
  get identities(): ReadonlySet<string> {
    const all = [...this.#connections.values()].flatMap(({ identity }) => identity ?? []);
    return new Set(all);
  }

  poolUse(): PoolUse {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return {
      max: this.#config.poolSize,
      total: totalCount,
      idle: idleCount,
      waiting: waitingCount,
    };
  }

  /**
   * Closes all connections. Connections that are still being opened are closed once they are open. A server that was
   * frozen during a failover could still accept a connection, and anything written to it would be lost.
   */
  abort(): void {
    this.#aborts += 1;
    for (const client of [...this.#connections.keys(), ...this.#unpooled]) {
      if (!(client instanceof Client)) continue;
      client.connection.stream.destroy(ABORTED);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #setUp(client: ClientBase): Promise<void> {
    const connection = new PooledConnection();
    this.#connections.set(client, connection);
    client.once('end', () => this.#connections.delete(client));
    // Ignored: if the connection fails between two statements, the next statement fails anyway.
    client.on('error', ignore);
    if (client instanceof Client) {
      const { stream } = client.connection;
      stream.on('timeout', () => stream.destroy(new Error('Query read timeout')));
      limitSilence(client, this.#silenceMs);
    }
    await client.query(sessionSql(this.#config));
    const { rows } = await client.query<{ identity: string }>(
      `SELECT ${IDENTITY_SQL} AS "identity"`,
    );
    connection.identity = onlyRow(rows).identity;
  }

  async #connect(): Promise<PoolClient> {
    this.statements += 1;
    const before = this.#aborts;
    const start = performance.now();
    const client = await this.#pool
      .connect()
      .catch((error: Error) => {
        if (isPoolTimeout(error)) throw new PoolExhausted(this.#config, error);
        this.#onLoss();
        throw new NothingWritten(error);
      })
      .finally(() => addWait('poolMs', start));
    if (before === this.#aborts) return client;
    client.release(true);
    throw new NothingWritten(ABORTED);
  }

  /** Converts the error of a connection that was lost before PostgreSQL responded. */
  #toLossError(error: unknown, writes: boolean): unknown {
    if (!isConnectionLost(error)) return error;
    this.#onLoss();
    return writes ? new OutcomeUnknown(error) : new NothingWritten(error);
  }

  #send<Row>(
    client: PoolClient,
    text: string,
    values: unknown[],
    { planning }: Pick<RunOptions, 'planning'>,
  ): Promise<Row[]> {
    // A pooler may run the next statement on another connection.
    const isPrepared = planning === 'once' && !this.#config.pgbouncer;
    const name = isPrepared ? this.#connections.get(client)?.nameOf(text) : undefined;
    const query = { name, text, values: values.map(toParameter), types: TYPES };
    // With pg's own promise, rows are still in use when garbage is collected, and move to the heap's old generation:
    // reading large rows takes 1.5 times the CPU time.
    const sent = new Promise<Row[]>((resolve, reject) => {
      client.query<Row & object>(query, (error: Error | null, result) => {
        if (!error) return resolve(result.rows);
        if (!isPlanLost(error)) return reject(error);
        // A migration has probably changed a table, for all connections.
        for (const connection of this.#connections.values()) connection.forgetPlans();
        // PostgreSQL ends the transaction, if there is one; conflicts.ts repeats it.
        if (client.getTransactionStatus() !== 'I') return reject(error);
        resolve(this.#send<Row>(client, text, values, { planning: 'each' }));
      });
    });
    return watchStatement(this.#log, text, sent);
  }

  /**
   * Returns a connection to the pool. Closes it after an error that may leave it unusable, if a transaction is still
   * open on it, or if it has prepared many statements.
   */
  #release(client: PoolClient, failure: unknown): void {
    const isUsable =
      (failure === undefined || isUsableAfter(failure)) &&
      client.getTransactionStatus() === 'I' &&
      this.#connections.get(client)?.isFull === false;
    client.release(!isUsable);
  }
}
