import {
  Client,
  type ClientBase,
  type ClientConfig,
  type CustomTypesConfig,
  defaults,
  type PoolClient,
  types,
} from 'pg';

import type { Config } from '../config/config.ts';
import { codeOf } from '../contract/gateway-error.ts';
import { TYPE_PARSERS } from '../kinds/kinds.ts';
import type { Log } from '../telemetry/log.ts';
import { watchStatement } from '../telemetry/request-log.ts';
import type { AbandonedStatements } from './abandoned-statements.ts';
import {
  ABORTED,
  ConnectionPool,
  limitSilence,
  PooledConnection,
  type PoolUse,
  requirePrimary,
  toClientConfig,
} from './connection-pool.ts';
import {
  isConnectionLost,
  isNameLost,
  isPlanLost,
  keepsConnection,
  NothingWritten,
  OutcomeUnknown,
} from './database-errors.ts';
import { type Recipient, RecipientGone } from './recipient.ts';
import { sessionSql } from './session-settings.ts';
import type { Runner, RunOptions, TransactionRunner } from './session.ts';

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

/** Converts a parameter for pg, which would needlessly quote each bigint of an array. */
const toParameter = (value: unknown): unknown =>
  Array.isArray(value) && value.every((item) => typeof item === 'bigint')
    ? `{${value.join(',')}}`
    : value;

export interface ServerOptions {
  readonly graceMs?: number | undefined;
  /** Called when a connection is lost or can't be opened. */
  readonly onLoss?: (() => void) | undefined;
  /** For an address that leads to a primary: called with the identity of the server behind each new connection. */
  readonly onPrimary?: ((identity: string) => void) | undefined;
  /** Keeps the places of connections that were closed too early. Without it, they leave the pool at once. */
  readonly abandoned?: AbandonedStatements | undefined;
  /** Called with each new connection; rejects if the server must not be used. */
  readonly check?: ((client: ClientBase) => Promise<void>) | undefined;
}

/** A PostgreSQL server, or a load balancer in front of several servers, with a connection pool. Connects on demand. */
export class PostgresServer implements TransactionRunner {
  /** Host and port, for the log. */
  readonly name: string;
  readonly #config: Config;
  readonly #log: Log;
  readonly #silenceMs: number;
  readonly #options: ServerOptions;
  readonly #clientConfig: ClientConfig;
  readonly #pool: ConnectionPool;
  readonly #connections = new Map<ClientBase, PooledConnection>();
  #isPoolerNoticed = false;

  constructor(url: string, config: Config, log: Log, options: ServerOptions = {}) {
    const { graceMs = GRACE_MS, abandoned } = options;
    this.name = decodeURIComponent(new URL(url).host);
    this.#config = config;
    this.#log = log;
    this.#silenceMs = config.statementTimeoutMs + graceMs;
    this.#options = options;
    this.#clientConfig = toClientConfig(url, config);
    this.#pool = new ConnectionPool(config, {
      clientConfig: this.#clientConfig,
      setUp: (client) => this.#setUp(client),
      isUsable: (client) => this.#isUsable(client),
      silenceMs: this.#silenceMs,
      // A read that a replica refuses runs on the primary.
      waitsIfFull: options.onPrimary !== undefined,
      onLoss: (error) => {
        log.debug({ err: error }, 'A database connection was lost or could not be opened.');
        options.onLoss?.();
      },
      abandoned,
    });
  }

  /**
   * Runs one statement.
   * @throws NothingWritten if the connection can't be opened, or is lost during a read; OutcomeUnknown if it is lost
   * during a write
   */
  run<Row>(text: string, values: unknown[], options: RunOptions): Promise<Row[]> {
    const { recipient, writes } = options;
    const send = async (client: PoolClient): Promise<Row[]> => {
      // Once the connection is closed, PostgreSQL cancels the statement if it can (session-settings.ts).
      const check = (): void => {
        if (recipient?.destroyed) client.connection.stream.destroy(new RecipientGone());
      };
      const timer = recipient?.destroyed === undefined ? undefined : setInterval(check, CHECK_MS);
      try {
        if (recipient?.destroyed) throw new RecipientGone();
        return await this.#send<Row>(client, text, values, options);
      } finally {
        clearInterval(timer);
      }
    };
    return this.#pool.lend(writes, send, recipient).catch((error: unknown) => {
      throw this.#toLossError(error, writes);
    });
  }

  async transaction<Result>(
    work: (runner: Runner) => Promise<Result>,
    recipient?: Recipient,
  ): Promise<Result> {
    const requestLog = recipient?.requestLog;
    // If the connection is lost before COMMIT, nothing is written.
    let writes = false;
    const commit = async (client: PoolClient): Promise<Result> => {
      try {
        await watchStatement(this.#log, requestLog, 'BEGIN', () => client.query('BEGIN'));
        const result = await work({
          run: (text, values, options) => this.#send(client, text, values, options),
        });
        writes = true;
        const { command } = await watchStatement(this.#log, requestLog, 'COMMIT', () =>
          client.query('COMMIT'),
        );
        // If a statement failed, PostgreSQL responds to COMMIT with ROLLBACK, which pg does not report as an error.
        if (command !== 'COMMIT') throw new Error('The transaction was rolled back.');
        return result;
      } catch (error) {
        // A connection that can't be used again is closed without a ROLLBACK.
        if (keepsConnection(error)) await client.query('ROLLBACK').catch(ignore);
        throw error;
      }
    };
    return this.#pool.lend(true, commit, recipient).catch((error: unknown) => {
      throw this.#toLossError(error, writes);
    });
  }

  /** Opens a connection outside the pool. */
  async connect(): Promise<Client> {
    const client = new Client(this.#clientConfig);
    await client.connect();
    try {
      await this.#setUp(client);
    } catch (error) {
      await client.end();
      throw error;
    }
    limitSilence(client, 0);
    return client;
  }

  poolUse(): PoolUse {
    return this.#pool.use;
  }

  /** Closes all connections. */
  abort(): void {
    this.#close(() => true);
  }

  /** Closes the connections to other servers than this one. */
  closeOthers(kept: string): void {
    this.#close(({ identity }) => identity !== undefined && identity !== kept);
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  #close(isClosed: (connection: PooledConnection) => boolean): void {
    for (const [client, connection] of this.#connections) {
      if (client instanceof Client && isClosed(connection)) {
        client.connection.stream.destroy(ABORTED);
      }
    }
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
    const { check, onPrimary } = this.#options;
    await check?.(client);
    if (!onPrimary) return;
    connection.identity = await requirePrimary(client, this.name);
    onPrimary(connection.identity);
  }

  /** Converts the error of a connection that was lost before PostgreSQL responded. */
  #toLossError(error: unknown, writes: boolean): unknown {
    if (!isConnectionLost(error)) return error;
    this.#options.onLoss?.();
    return writes ? new OutcomeUnknown(error) : new NothingWritten(error);
  }

  /** Warns, once, if an error shows that sessions lose their prepared statements. */
  #noticePooler(error: unknown): void {
    if (this.#isPoolerNoticed || !isNameLost(error)) return;
    this.#isPoolerNoticed = true;
    this.#log.warn(
      `${this.name} loses prepared statements (SQLSTATE ${codeOf(error)}). If it is a pooler in transaction mode, set PGBOUNCER=true.`,
    );
  }

  #send<Row>(
    client: PoolClient,
    text: string,
    values: unknown[],
    options: RunOptions,
  ): Promise<Row[]> {
    // A pooler may run the next statement on another connection.
    const isPrepared = options.planning === 'once' && !this.#config.pgbouncer;
    const name = isPrepared ? this.#connections.get(client)?.nameOf(text) : undefined;
    const query = { name, text, values: values.map(toParameter), types: TYPES };
    // With pg's own promise, rows are still in use when garbage is collected, and move to the heap's old generation:
    // reading large rows takes 1.5 times the CPU time.
    const send = () =>
      new Promise<Row[]>((resolve, reject) => {
        client.query<Row & object>(query, (error: Error | null, result) => {
          if (!error) return resolve(result.rows);
          this.#noticePooler(error);
          if (!isPlanLost(error)) return reject(error);
          // A migration has probably changed a table, for all connections.
          for (const connection of this.#connections.values()) connection.forgetPlans();
          // PostgreSQL ends the transaction, if there is one; session.ts repeats it.
          if (client.getTransactionStatus() !== 'I') return reject(error);
          resolve(this.#send<Row>(client, text, values, { ...options, planning: 'each' }));
        });
      });
    return watchStatement(this.#log, options.recipient?.requestLog, text, send);
  }

  /** Whether no transaction is open on a connection, and few statements are prepared. */
  #isUsable(client: PoolClient): boolean {
    return client.getTransactionStatus() === 'I' && this.#connections.get(client)?.isFull === false;
  }
}
