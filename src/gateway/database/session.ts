import { setTimeout as sleep } from 'node:timers/promises';

import type { Sql } from 'sql-template-tag';

import { addWait } from '../telemetry/request-log.ts';
import { isConflict } from './database-errors.ts';
import type { FairQueue } from './fair-queue.ts';
import { type Recipient, RecipientGone } from './recipient.ts';
import { withWho } from './who.ts';

/** What a statement takes: planned `once` and `light` by default. */
export interface Effort {
  /**
   * How PostgreSQL plans it: `once` for all values, or `each` time for the given values, which pays off if the number of
   * rows depends on them.
   */
  readonly planning: 'once' | 'each';
  /** How much it reads: a few rows found by an index, or a large part of a table. */
  readonly load: 'light' | 'heavy';
}

/** A statement with its parameters `$1`, `$2`… */
export type Statement = Pick<Sql, 'text' | 'values'>;

export interface RunOptions extends Pick<Effort, 'planning'> {
  /** Whether the statement writes or locks rows. If so, it is repeated only if it has certainly written nothing. */
  readonly writes: boolean;
  /** The recipient of the result. Once it is destroyed, a read can be cancelled. */
  readonly recipient?: Recipient | undefined;
}

/** The options of statements with which the gateway asks about the database itself. */
export const READ = { planning: 'once', writes: false } as const;

// A statement that writes: itself, or in its WITH.
const WRITING =
  /^\s*(?:with\b[^]*[()]\s*)?(?:(?:insert|merge)\s+into|delete\s+from|update\s+\S+\s+(?:as\s+\S+\s+)?set)\b/i;

/** Something that runs statements: a server or a transaction. */
export interface Runner {
  /** Runs one statement. TYPE_PARSERS parse the values in its rows. */
  run<Row>(text: string, values: unknown[], options: RunOptions): Promise<Row[]>;
}

export interface TransactionRunner extends Runner {
  /** Runs `work` between BEGIN and COMMIT; rejects unless PostgreSQL has committed. */
  transaction<Result>(
    work: (runner: Runner) => Promise<Result>,
    recipient?: Recipient,
  ): Promise<Result>;
}

/** Runs statements, either each on its own or all in one transaction. The functions can be passed on without it. */
export interface Session {
  /**
   * Runs one statement that only reads. Its parameters are bound, never put into the text. Once the recipient is
   * destroyed, the statement is not started or, if the database can cancel it, is cancelled.
   * @throws RecipientGone
   * @throws Error for a statement that writes, which must be neither repeated nor cancelled
   */
  readonly query: <Row>(
    statement: Statement,
    effort?: Partial<Effort>,
    recipient?: Recipient,
  ) => Promise<Row[]>;
  /**
   * Runs one statement that writes or locks rows.
   * @throws OutcomeUnknown if the connection is lost before PostgreSQL responds, outside a transaction
   */
  readonly write: <Row>(statement: Statement, recipient?: Recipient) => Promise<Row[]>;
}

/** Called when a statement starts; returns the function to call when it ends. */
type ObserveStatement = (load: Effort['load']) => (result: 'success' | 'error') => void;

interface SessionOptions {
  readonly observe: ObserveStatement;
  /** Limits how many heavy statements run at the same time. */
  readonly heavy: FairQueue;
  /** Whether to repeat a statement after a conflict, as it is in no transaction. */
  readonly repeats?: boolean;
  /** The recipient of all results that have none of their own. */
  readonly recipient?: Recipient | undefined;
}

const CONFLICT_ATTEMPTS = 10;
const FIRST_WAIT_MS = 10;
const LONGEST_WAIT_MS = 500;

/**
 * Runs `work` up to ten times, as long as PostgreSQL rolls it back because of a deadlock or a serialization failure
 * (SQLSTATE 40P01 and 40001).
 */
export async function repeatAfterConflict<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === CONFLICT_ATTEMPTS || !isConflict(error)) throw error;
      // A random delay, so that the same transactions do not collide again.
      await sleep(Math.random() * Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS));
    }
  }
}

const LIGHT: Partial<Effort> = {};

/**
 * Creates a session. From here, a statement outside a transaction goes to PostgreSQL through these functions:
 *
 *   query or write         queues it if it is heavy
 *   send                   measures it, and repeats it after a conflict
 *   PostgresServer.run     takes a connection from the pool and releases it (postgres-server.ts)
 *   client.query           pg
 *
 * On the embedded database, `send` calls PGlite (pglite.ts).
 */
export function createSession(
  runner: Runner,
  { observe, heavy, repeats, recipient: always }: SessionOptions,
): Session {
  const send = async <Row>(
    statement: Statement,
    load: Effort['load'],
    options: RunOptions,
  ): Promise<Row[]> => {
    if (options.recipient?.destroyed) throw new RecipientGone();
    const who = options.writes ? options.recipient?.who : undefined;
    const { text, values } = who === undefined ? statement : withWho(statement, who);
    const end = observe(load);
    try {
      const run = () => runner.run<Row>(text, values, options);
      const rows = await (repeats ? repeatAfterConflict(run) : run());
      end('success');
      return rows;
    } catch (error) {
      end('error');
      throw error;
    }
  };
  return {
    query: async <Row>(
      statement: Statement,
      { planning = 'once', load = 'light' }: Partial<Effort> = LIGHT,
      recipient = always,
    ): Promise<Row[]> => {
      if (WRITING.test(statement.text)) throw new Error('A statement that writes needs `write`.');
      const options = { planning, writes: false, recipient };
      if (load === 'light') return send<Row>(statement, load, options);
      const queuedAt = performance.now();
      return heavy.run(recipient?.callerKey ?? '', () => {
        addWait(recipient?.requestLog, 'queueMs', queuedAt);
        return send<Row>(statement, load, options);
      });
    },
    write: (statement, recipient = always) =>
      send(statement, 'light', { planning: 'once', writes: true, recipient }),
  };
}

export function onlyRow<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined || rows.length > 1)
    throw new Error(`A statement returned ${rows.length} rows instead of one.`);
  return row;
}
