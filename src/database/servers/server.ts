import { PrismaPg } from '@prisma/adapter-pg';
import {
  Client,
  type ClientBase,
  type CustomTypesConfig,
  DatabaseError,
  defaults,
  type Pool,
  type PoolClient,
  type QueryConfig,
  type QueryResultRow,
  types,
} from 'pg';

import type { Config } from '../../config/config.ts';
import { StoreError } from '../../contract/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { PoolUse } from '../../telemetry/metrics.ts';
import { isConnectionLost, keepsConnection, NothingWritten, OutcomeUnknown } from '../errors.ts';
import { openPool } from '../pool.ts';
import { nameStatement, statementName } from '../prepared-statements.ts';
import { type Recipient, RecipientGone } from '../recipient.ts';
import type { Run } from '../session.ts';
import { TYPE_PARSERS } from '../type-parsers.ts';
import { cancelWhenGone } from './cancel.ts';
import { withOutcome } from './outcome.ts';

/** What Prisma sends its statements with. */
type Adapter = Awaited<ReturnType<PrismaPg['connect']>>;

/** Sends the statements of Prisma's model API. */
type PrismaSender = Pick<Adapter, 'queryRaw' | 'executeRaw'>;

/** A server of PostgreSQL, or a balancer in front of some, with a pool of connections. */
export interface Server {
  readonly url: string;
  /** Its host and port, for the log and the metrics. */
  readonly name: string;
  /** Returns the identities of the servers that its connections lead to: several behind a balancer. */
  readonly identities: () => ReadonlySet<string>;
  readonly run: Run;
  /** Runs `work` between BEGIN and COMMIT; rejects unless PostgreSQL has committed. */
  readonly transaction: <Result>(work: (run: Run) => Promise<Result>) => Promise<Result>;
  readonly prismaSender: () => Promise<PrismaSender>;
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

/**
 * Runs `work` on a connection of the pool; closes it after an error that leaves it unusable. Once the
 * recipient is destroyed, `work` does not begin, or its statement is cancelled.
 */
async function withClient<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
  log: Log,
  recipient?: Recipient,
): Promise<Result> {
  const client = await pool.connect();
  if (recipient?.destroyed) {
    client.release();
    throw new RecipientGone();
  }
  const cancellation = recipient && cancelWhenGone(client, recipient, log);
  // The connection may fail before the statement is sent: then the statement rejects.
  client.on('error', ignore);
  let isUsable = true;
  try {
    return await work(client);
  } catch (error) {
    isUsable = error instanceof Error && keepsConnection(error);
    throw cancellation?.wasRequested() ? new RecipientGone() : error;
  } finally {
    cancellation?.stop();
    client.off('error', ignore);
    // Also closed after a cancellation, which may arrive late: it must not end the next statement.
    client.release(!isUsable || cancellation?.wasRequested());
  }
}

/** Rolls back, and returns whether PostgreSQL has confirmed it. */
const rollBack = (client: PoolClient): Promise<boolean> =>
  client.query('ROLLBACK').then(
    () => true,
    () => false,
  );

/** Runs `work` in a transaction on one connection. */
async function runTransaction<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  // The connection may fail between two statements: then the next one rejects.
  client.on('error', ignore);
  let hasEnded = false;
  let isCommitting = false;
  try {
    await client.query('BEGIN');
    const result = await work(client);
    isCommitting = true;
    const { command } = await client.query('COMMIT');
    hasEnded = true;
    // If a statement failed, PostgreSQL responds to COMMIT with ROLLBACK, which is not an error of pg.
    if (command !== 'COMMIT') throw new Error('The transaction was rolled back.');
    return result;
  } catch (error) {
    // After any other error PostgreSQL may not have responded: it may run the statement later.
    const hasResponded = error instanceof StoreError || error instanceof DatabaseError;
    if (hasResponded && !hasEnded) hasEnded = await rollBack(client);
    if (!isConnectionLost(error)) throw error;
    throw isCommitting ? new OutcomeUnknown(error) : new NothingWritten(error);
  } finally {
    client.off('error', ignore);
    // Closed unless PostgreSQL has confirmed the end: the next user would be in this transaction.
    client.release(!hasEnded);
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
function send<Row>(client: PoolClient, query: QueryConfig): Promise<Row[]> {
  const rows = new Promise<Row[]>((resolve, reject) => {
    client.query<Row & QueryResultRow>(query, (error: Error | null, result) =>
      error ? reject(error) : resolve(result.rows),
    );
  });
  // As pg does, so that the stack names the caller.
  return rows.catch((error: Error) => {
    Error.captureStackTrace(error);
    throw error;
  });
}

/** Creates the sender of Prisma's statements for a pool. */
async function createPrismaSender(pool: Pool, { pgbouncer }: Config): Promise<PrismaSender> {
  const adapter = await new PrismaPg(pool, {
    // The model API sends few different statements.
    ...(!pgbouncer && { statementNameGenerator: nameStatement }),
  }).connect();
  return {
    // The model API is for writes alone.
    queryRaw: (statement) => withOutcome(true, () => adapter.queryRaw(statement)),
    executeRaw: (statement) => withOutcome(true, () => adapter.executeRaw(statement)),
  };
}

/** The connections of a server that is watched, and the servers that they lead to. */
function createConnections(config: Config) {
  // A connection leads to no known server until it is set up.
  const identityOf = new Map<ClientBase, string | undefined>();
  const identity = {
    text: `SELECT ${IDENTITY_SQL} AS "identity"`,
    query_timeout: config.connectTimeoutMs,
  };
  return {
    setUp: async (client: ClientBase) => {
      identityOf.set(client, undefined);
      client.once('end', () => identityOf.delete(client));
      const { rows } = await client.query<{ identity: string }>(identity);
      if (identityOf.has(client)) identityOf.set(client, rows[0]?.identity);
    },
    identities: () => new Set([...identityOf.values()].filter((one) => one !== undefined)),
    close: () => {
      for (const client of identityOf.keys()) {
        if (!(client instanceof Client)) continue;
        client.connection.stream.destroy(new Error('Connection terminated: the server is lost.'));
      }
    },
  };
}

/** Creates a server; it connects on demand. Only of one that is watched, connections are identified. */
export function createServer(url: string, config: Config, log: Log, isWatched: boolean): Server {
  const { setUp, identities, close } = createConnections(config);
  const pool = openPool(url, config, log, isWatched ? setUp : undefined);
  const runOn =
    (client: PoolClient): Run =>
    (text, values, { planning }) => {
      // PostgreSQL reuses the plan of a statement that has a name.
      const name = planning === 'once' && !config.pgbouncer ? statementName(client, text) : '';
      return send(client, { name, text, values: values.map(toParameter), types: TYPES });
    };
  let prismaSender: Promise<PrismaSender> | undefined;
  let statements = 0;
  return {
    url,
    name: new URL(url).host,
    identities,
    run: (text, values, options) => {
      statements += 1;
      const { writes, recipient } = options;
      return withClient(
        pool,
        (client) => withOutcome(writes, () => runOn(client)(text, values, options)),
        log,
        recipient,
      );
    },
    transaction: (work) => {
      statements += 1;
      return runTransaction(pool, (client) => work(runOn(client)));
    },
    prismaSender: () => {
      statements += 1;
      return (prismaSender ??= createPrismaSender(pool, config));
    },
    countStatements: () => statements,
    poolUse: () => ({
      max: config.poolSize,
      total: pool.totalCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    abort: () => {
      pool.cancelConnects();
      close();
    },
    close: () => pool.end(),
  };
}
