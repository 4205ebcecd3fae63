import {
  Client,
  type ClientBase,
  type CustomTypesConfig,
  defaults,
  type PoolClient,
  type QueryConfig,
  type QueryResult,
  type QueryResultRow,
  types,
} from 'pg';

import type { Config } from '../config/config.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import { TYPE_PARSERS } from '../kinds/kinds.ts';
import type { PoolUse } from '../telemetry/database-metrics.ts';
import type { Log } from '../telemetry/log.ts';
import { cancelWhenGone } from './cancel.ts';
import {
  isConnectionLost,
  keepsConnection,
  NothingWritten,
  OutcomeUnknown,
} from './database-errors.ts';
import { openPool } from './pool.ts';
import { isFull, statementName } from './prepared-statements.ts';
import { RecipientGone } from './recipient.ts';
import type { Run, RunOptions } from './session.ts';

/** A server of PostgreSQL, or a balancer in front of some, with a pool of connections. */
export interface Server {
  readonly url: string;
  /** Its host and port, for the log and the metrics. */
  readonly name: string;
  /** Returns the identities of the servers that its connections lead to: several behind a balancer. */
  readonly identities: () => ReadonlySet<string>;
  /**
   * Runs one statement.
   * @throws NothingWritten, or OutcomeUnknown if it writes: the connection is lost before PostgreSQL responds
   */
  readonly run: Run;
  /** Runs one statement of Prisma, which writes, and returns all that PostgreSQL responds. @throws like `run` */
  readonly write: (query: QueryConfig) => Promise<QueryResult>;
  /** Runs `work` between BEGIN and COMMIT; rejects unless PostgreSQL has committed. */
  readonly transaction: <Result>(work: (run: Run) => Promise<Result>) => Promise<Result>;
  readonly poolUse: () => PoolUse;
  /** Returns how many statements and transactions were sent. */
  readonly countStatements: () => number;
  /** Closes all connections, and those that are being opened: what waits for them fails, most of it at once. */
  readonly abort: () => void;
  readonly close: () => Promise<void>;
}

/** Identifies the server that a connection leads to, until it starts again: behind proxies, addresses can be equal. */
export const IDENTITY_SQL = `concat(inet_server_addr(), ':', inet_server_port(), ' ',
  extract(epoch FROM pg_postmaster_start_time()))`;

const TYPES: CustomTypesConfig = {
  getTypeParser: (oid, format) => TYPE_PARSERS[oid] ?? types.getTypeParser(oid, format),
};

// In local time, pg would lose the seconds that time zones had before they were a number of hours.
defaults.parseInputDatesAsUTC = true;

const ignore = (): void => {};

function toLossError(error: unknown, writes: boolean): unknown {
  if (!isConnectionLost(error)) return error;
  return writes ? new OutcomeUnknown(error) : new NothingWritten(error);
}

/** Runs `work` between BEGIN and COMMIT. Before COMMIT, nothing is written. */
async function runTransaction<Result>(
  client: PoolClient,
  purpose: { writes: boolean },
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    await client.query('BEGIN');
    const result = await work();
    purpose.writes = true;
    const { command } = await client.query('COMMIT');
    // If a statement failed, PostgreSQL responds to COMMIT with ROLLBACK, which is not an error of pg.
    if (command !== 'COMMIT') throw new Error('The transaction was rolled back.');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch(ignore);
    throw error;
  }
}

/** Converts a parameter for pg, which would quote each item of an array; digits need no quotes. */
const toParameter = (value: unknown): unknown =>
  Array.isArray(value) && value.every((item) => typeof item === 'bigint')
    ? `{${value.join(',')}}`
    : value;

/**
 * Runs a query on a connection. With pg's own promise, the garbage collector keeps rows for longer: reading
 * large ones takes half as long again.
 */
function send<Row>(
  client: PoolClient,
  query: QueryConfig,
): Promise<QueryResult<Row & QueryResultRow>> {
  const sent = new Promise<QueryResult<Row & QueryResultRow>>((resolve, reject) => {
    client.query<Row & QueryResultRow>(query, (error: Error | null, result) =>
      error ? reject(error) : resolve(result),
    );
  });
  // As pg does, so that the stack names the caller.
  return sent.catch((error: Error) => {
    Error.captureStackTrace(error);
    throw error;
  });
}

/**
 * Creates the connections of a server. Only of one that is watched, they are identified: they lead to no known
 * server until they are set up.
 */
function createConnections(url: string, config: Config, log: Log, isWatched: boolean) {
  const identityOf = new Map<ClientBase, string | undefined>();
  const identity = {
    text: `SELECT ${IDENTITY_SQL} AS "identity"`,
    query_timeout: config.connectTimeoutMs,
  };
  const setUp = async (client: ClientBase): Promise<void> => {
    identityOf.set(client, undefined);
    client.once('end', () => identityOf.delete(client));
    const { rows } = await client.query<{ identity: string }>(identity);
    if (identityOf.has(client)) identityOf.set(client, rows[0]?.identity);
  };
  const pool = openPool(url, config, log, isWatched ? setUp : undefined);
  let aborts = 0;
  return {
    pool,
    connect: async (): Promise<PoolClient> => {
      const before = aborts;
      const client = await pool.connect().catch((error: Error) => {
        throw toLossError(error, false);
      });
      if (before === aborts) return client;
      client.release(true);
      throw new NothingWritten(new Error('Connection terminated: the server is no longer used.'));
    },
    identities: () => new Set([...identityOf.values()].filter((one) => one !== undefined)),
    /**
     * Closes all. A connect that waits fails at its end: a server that was frozen while another one was promoted
     * would accept it later, and write what is lost then.
     */
    abort: () => {
      aborts += 1;
      for (const client of identityOf.keys()) {
        if (!(client instanceof Client)) continue;
        client.connection.stream.destroy(new Error('Connection terminated: the server is lost.'));
      }
    },
  };
}

/** Whether a connection can be used again after an error: its statement has ended, and no other has begun. */
const isUsableAfter = (error: unknown): boolean =>
  error instanceof GatewayError || (error instanceof Error && keepsConnection(error));

/**
 * Runs `work` on a connection, and releases it; closes it after an error that leaves it unusable. Once the
 * recipient is destroyed, `work` does not begin, or its statement is cancelled.
 */
async function useClient<Result>(
  client: PoolClient,
  purpose: Omit<RunOptions, 'planning'>,
  work: (client: PoolClient) => Promise<Result>,
  log: Log,
): Promise<Result> {
  const { recipient } = purpose;
  const cancellation = recipient && cancelWhenGone(client, recipient, log);
  // The connection may fail before a statement is sent: then the statement rejects.
  client.on('error', ignore);
  let isUsable = true;
  try {
    if (recipient?.destroyed) throw new RecipientGone();
    return await work(client);
  } catch (error) {
    isUsable = isUsableAfter(error);
    throw cancellation?.wasRequested() ? new RecipientGone() : toLossError(error, purpose.writes);
  } finally {
    cancellation?.stop();
    client.off('error', ignore);
    // After a cancellation, which may arrive late and must not end the next statement, it is closed too.
    isUsable &&= !cancellation?.wasRequested() && client.getTransactionStatus() === 'I';
    client.release(!isUsable || isFull(client));
  }
}

/** Creates a server; it connects on demand. */
export function createServer(url: string, config: Config, log: Log, isWatched: boolean): Server {
  const { pool, connect, identities, abort } = createConnections(url, config, log, isWatched);
  let statements = 0;
  const withClient = async <Result>(
    purpose: Omit<RunOptions, 'planning'>,
    work: (client: PoolClient) => Promise<Result>,
  ): Promise<Result> => {
    statements += 1;
    return useClient(await connect(), purpose, work, log);
  };
  // PostgreSQL reuses the plan of a statement that has a name.
  const nameOf = (client: PoolClient, text: string): string =>
    config.pgbouncer ? '' : statementName(client, text);
  const runOn = async <Row>(
    client: PoolClient,
    text: string,
    values: unknown[],
    { planning }: RunOptions,
  ): Promise<Row[]> => {
    const name = planning === 'once' ? nameOf(client, text) : '';
    const query = { name, text, values: values.map(toParameter), types: TYPES };
    return (await send<Row>(client, query)).rows;
  };
  return {
    url,
    name: new URL(url).host,
    identities,
    run: <Row>(text: string, values: unknown[], options: RunOptions) =>
      withClient(options, (client) => runOn<Row>(client, text, values, options)),
    write: (query) =>
      withClient({ writes: true }, (client) =>
        send(client, { ...query, name: nameOf(client, query.text) }),
      ),
    transaction: (work) => {
      const purpose = { writes: false };
      return withClient(purpose, (client) =>
        runTransaction(client, purpose, () =>
          work((text, values, options) => runOn(client, text, values, options)),
        ),
      );
    },
    countStatements: () => statements,
    poolUse: () => ({
      max: config.poolSize,
      total: pool.totalCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    abort,
    close: () => pool.end(),
  };
}
