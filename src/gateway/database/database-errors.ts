import { z } from 'zod';

import type { Config } from '../config/config.ts';
import { codeOf, GatewayError, toError } from '../contract/gateway-error.ts';

// SQLSTATEs (PostgreSQL, appendix A) for which neither the request nor the gateway is at fault: the same request can
// succeed once the database or its machine has recovered.
const UNAVAILABLE_SQLSTATE = new RegExp(
  `^(${[
    '25006', // read-only: a standby, a demoted primary, or an operator's setting
    '25P0[34]', // a transaction was idle for too long, or took too long
    '28...', // the role cannot log in, for example while its password is being changed
    '3D000', // the database does not exist, for example while it is being restored
    '40(001|003|P01)', // conflicts with other transactions, after the last retry; or an unknown outcome
    '53...', // no disk space, memory or connections left
    '55P03', // a lock was not available in time
    '57...', // cancelled, shutting down, starting, dropped
    '58...', // disk or operating system errors
    'XX00[12]', // corrupted data or index: an operator has to repair it or fail over
  ].join('|')})$`,
);
const UNAVAILABLE_SYSTEM =
  /^(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;
// The messages of pg 8.23 for a lost connection, whose errors have neither a code nor a class.
const LOST_MESSAGE =
  /^(Query read timeout|Connection terminated|Client has encountered a connection error)/;

// Invalid values, conflicts and limits: these errors leave the connection usable. After any other error, the connection
// may be unusable, for example because a migration invalidated a cached plan, or because the server has become
// read-only.
const STATEMENT_SQLSTATE = /^(2[23]...|40...|53[124]00|55P03|57014|P0...)$/;

/** What PostgreSQL says about an error, apart from its message, through both drivers. */
const Report = z
  .object({
    severity: z.string(),
    table: z.string(),
    detail: z.string(),
    constraint: z.string(),
    routine: z.string(),
  })
  .partial();

const reportOf = (error: unknown) => Report.safeParse(error).data ?? {};

/** Whether an error is known to have closed its connection. */
const isFatal = (error: Error): boolean =>
  [error, error.cause].some((one) => reportOf(one).severity === 'FATAL');

/** Whether a connection can be used after an error: its statement has ended, and no other statement has started. */
export const keepsConnection = (error: unknown): boolean =>
  error instanceof GatewayError ||
  (error instanceof Error && STATEMENT_SQLSTATE.test(codeOf(error)) && !isFatal(error));

// After these errors, such as a lost connection, a shutdown or a failed disk, the statement may have been committed.
// The severity alone is not enough: poolers can report any severity, and PostgreSQL translates severities.
const UNCERTAIN_SQLSTATE = /^(08...|40003|57P..|58...|XX...)$/;

/** Whether a statement was definitely rolled back. */
export const isRolledBack = (error: unknown): boolean =>
  error instanceof Error &&
  reportOf(error).severity !== undefined &&
  codeOf(error) !== '' &&
  !isFatal(error) &&
  !UNCERTAIN_SQLSTATE.test(codeOf(error));

/** Whether the error of a DELETE means that other rows refer to the row. PostgreSQL 18 has a code for RESTRICT. */
export const isStillReferenced = (error: unknown): boolean => /^23(503|001)$/.test(codeOf(error));

/** Whether a row already exists, perhaps just inserted by another transaction. */
export const isDuplicate = (error: unknown): boolean => codeOf(error) === '23505';

/** Values that another row already has in unique columns, or a foreign key that refers to no row. */
interface Violation {
  readonly isDuplicate: boolean;
  /** The columns, qualified with the table's name. */
  readonly columns: readonly string[];
  /** The values in the order of the columns, separated by commas. */
  readonly values: string;
}

/**
 * Returns the values that violate a constraint, whatever the constraint's name. In `Key (a, b)=(1, 2) is not …`,
 * PostgreSQL translates only the words around the columns and the values.
 */
export function violationOf(error: unknown): Violation | undefined {
  if (!/^2350[35]$/.test(codeOf(error))) return undefined;
  const { table, detail = '' } = reportOf(error);
  const [, names, values] = /\(([\w, ]+)\)=\((.*)\)/s.exec(detail) ?? [];
  if (names === undefined || values === undefined) return undefined;
  const columns = names.split(', ').map((name) => `${table}.${name}`);
  return { isDuplicate: isDuplicate(error), columns, values };
}

/** Returns the name of the CHECK constraint that a row violates. */
export const violatedCheck = (error: unknown): string | undefined =>
  codeOf(error) === '23514' ? reportOf(error).constraint : undefined;

/** Whether a number is out of its column's range. */
export const isOutOfRange = (error: unknown): boolean => codeOf(error) === '22003';

/** Whether a session lacks a prepared statement of its connection, or has one that the connection does not know. */
export const isNameLost = (error: unknown): boolean => /^(26000|42P05)$/.test(codeOf(error));

/**
 * Whether a prepared statement can no longer run: a table that it reads was changed, or it was deallocated. Nothing was
 * executed.
 */
export const isPlanLost = (error: unknown): boolean =>
  isNameLost(error) ||
  (codeOf(error) === '0A000' && reportOf(error).routine === 'RevalidateCachedQuery');

/** Whether PostgreSQL rolled back because of another transaction or a lost plan. The work can be retried. */
export const isConflict = (error: unknown): boolean =>
  /^40(001|P01)$/.test(codeOf(error)) || isPlanLost(error);

// PgBouncer's message at max_client_conn; its SQLSTATE is that of a protocol violation.
const REFUSED_MESSAGE = /^no more connections allowed/;

/** Whether a connection could not be opened because a server or pooler allows no more of them. */
export function isRefused(error: unknown): boolean {
  const reason = error instanceof GatewayError ? error.cause : error;
  if (!(reason instanceof Error)) return false;
  return codeOf(reason) === '53300' || REFUSED_MESSAGE.test(reason.message);
}

/** Whether the connection was lost before PostgreSQL responded. Poolers report this with an SQLSTATE of class 08. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof GatewayError) return false;
  return (
    codeOf(error).startsWith('08') ||
    UNAVAILABLE_SYSTEM.test(codeOf(error)) ||
    LOST_MESSAGE.test(error.message)
  );
}

/** The connection could not be opened, or was lost before anything was written. The work can be retried. */
export class NothingWritten extends GatewayError {
  constructor(cause: unknown) {
    super('SERVICE_UNAVAILABLE', undefined, cause);
  }
}

/** No connection of the pool became free in time. */
export class PoolExhausted extends GatewayError {
  constructor({ poolSize, connectTimeoutMs }: Config, cause: unknown) {
    const reason =
      `The connection pool is exhausted: no connection became free within ${connectTimeoutMs} ms (CONNECT_TIMEOUT_MS). ` +
      `It has at most ${poolSize} (POOL_SIZE), or as many as the server allows.`;
    super('SERVICE_UNAVAILABLE', undefined, new Error(reason, { cause }));
  }
}

/** The connection was lost before PostgreSQL confirmed a write. */
export class OutcomeUnknown extends GatewayError {
  constructor(cause: unknown) {
    super('OUTCOME_UNKNOWN', undefined, cause);
  }
}

// SQLSTATEs for statements that a standby rejects, for conflicts with log replay or transactions, for shutdown and
// startup, and for too many connections.
const SERVER_SQLSTATE = /^(25006|40(001|P01)|57P0[1-5]|53300)$/;

/** Whether a failed read may succeed on another server: this one was lost, rejected it, cancelled it, or is full. */
export const isServerFault = (error: unknown): boolean =>
  error instanceof NothingWritten || isConnectionLost(error) || SERVER_SQLSTATE.test(codeOf(error));

/** Whether an error, or any error in its chain of causes, means that the database is temporarily unavailable. */
export function isUnavailable(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (isConnectionLost(cause) || UNAVAILABLE_SQLSTATE.test(codeOf(cause))) return true;
  }
  return false;
}

// Node.js's errors for the certificate of a server.
const CERTIFICATE = /CERT|^UNABLE_TO_VERIFY|^HOSTNAME_MISMATCH/;

/** Returns why a connection can't be opened. If a host name has several addresses, the error may have only a code. */
export function toObstacle(error: unknown): string {
  const reason = error instanceof GatewayError ? error.cause : error;
  const { message, code }: NodeJS.ErrnoException = toError(reason);
  const isDistrusted = CERTIFICATE.test(code ?? '');
  return isDistrusted ? `${message}; set sslrootcert in the URL` : message || String(code);
}

/** Adds what an operator can do about a duplicate primary key. */
function addAdvice(error: unknown): unknown {
  const violation = violationOf(error);
  if (!violation?.isDuplicate || !reportOf(error).constraint?.endsWith('_pkey')) return error;
  const [table, column] = violation.columns[0]?.split('.') ?? [];
  return new Error(
    `A new row got an id that is in use, perhaps because rows were imported with their ids. To continue after the ` +
      `highest id: SELECT setval(pg_get_serial_sequence('${table}', '${column}'), max(${column})) FROM ${table};`,
    { cause: error },
  );
}

/** Converts any thrown value to the error that the caller receives. The cause is only logged. */
export function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const code = isUnavailable(error) ? 'SERVICE_UNAVAILABLE' : 'INTERNAL_SERVER_ERROR';
  return new GatewayError(code, undefined, addAdvice(error));
}
