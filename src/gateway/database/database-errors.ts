import { z } from 'zod';

import { GatewayError, toError } from '../contract/gateway-error.ts';

// SQLSTATEs (PostgreSQL, appendix A) for which neither the request nor the gateway is at fault, and the
// same request can succeed when the database or its machine is available again.
const UNAVAILABLE_SQLSTATE = new RegExp(
  `^(${[
    '08...', // connection exceptions
    '25006', // read-only: a standby, a demoted primary, or set by an operator
    '25P0[34]', // a transaction was idle for too long, or took too long
    '28...', // the role may not log in, for example while its password is changed
    '3D000', // the database does not exist, for example while it is restored
    '40(001|003|P01)', // conflicts with other transactions, after the last retry
    '53...', // no disk space, memory or connection left
    '55P03', // a lock was not available in time
    '57...', // cancelled, shutting down, starting, dropped
    '58...', // errors of the disk or the operating system
    'XX00[12]', // corrupted data or index: an operator has to repair it or fail over
  ].join('|')})$`,
);
const UNAVAILABLE_SYSTEM =
  /^(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;
// Errors of pg 8.23 that have no code and no class of their own: of a lost connection, and of a timeout of
// connecting or of waiting for a connection of the pool.
const LOST_MESSAGE =
  /^(Query read timeout|Connection terminated|Client has encountered a connection error)/;
const TIMEOUT_MESSAGE = /^timeout e/;

// Invalid values, conflicts and limits: such an error ends only the statement. After any other error the
// connection may be unusable, for example because a migration made a cached plan invalid or the server
// has become read-only.
const STATEMENT_SQLSTATE = /^(2[23]...|40...|53[124]00|55P03|57014|P0...)$/;

/** Returns the SQLSTATE of an error of pg or PGlite, or the code of the system; empty if it has none. */
const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

const Fatal = z.object({ severity: z.literal('FATAL') });

/** Whether an error ended its connection. */
const isFatal = (error: Error): boolean =>
  Fatal.safeParse(error).success || Fatal.safeParse(error.cause).success;

/** Whether a connection can be used again after an error that PostgreSQL reported on it. */
export const keepsConnection = (error: Error): boolean =>
  STATEMENT_SQLSTATE.test(codeOf(error)) && !isFatal(error);

// After these a statement may have been committed: a lost connection, a shutdown, a failed disk. Poolers
// report them with any severity, and PostgreSQL translates the severity, so `ERROR` says too little.
const UNCERTAIN_SQLSTATE = /^(08...|40003|57P..|58...|XX...)$/;
const Reported = z.object({ severity: z.string(), code: z.string() });

/** Whether a statement was certainly rolled back. */
export const isRolledBack = (error: unknown): boolean =>
  error instanceof Error &&
  Reported.safeParse(error).success &&
  !isFatal(error) &&
  !UNCERTAIN_SQLSTATE.test(codeOf(error));

/** Whether a row can't be deleted, as rows of any table refer to it. */
export const isStillReferenced = (error: unknown): boolean => codeOf(error) === '23503';

/** Whether a row exists already, that another transaction may have inserted. */
export const isDuplicate = (error: unknown): boolean => codeOf(error) === '23505';

/** A value that another row has, or to which no row belongs: in a column that is unique, or a foreign key. */
interface Violation {
  readonly isDuplicate: boolean;
  /** With the name of the table. */
  readonly column: string;
  readonly value: string;
}

const KeyError = z.object({ table: z.string(), detail: z.string() });

/**
 * Returns the value of a row that violates a constraint of one column, whatever the constraint is called.
 * PostgreSQL translates only the words: `Key (a)=(1) is not …`.
 */
export function violationOf(error: unknown): Violation | undefined {
  if (!/^2350[35]$/.test(codeOf(error))) return undefined;
  const { table, detail = '' } = KeyError.safeParse(error).data ?? {};
  const [, column, value] = /\((\w+)\)=\((.*)\)/s.exec(detail) ?? [];
  if (column === undefined || value === undefined) return undefined;
  return { isDuplicate: isDuplicate(error), column: `${table}.${column}`, value };
}

const CheckError = z.object({ code: z.literal('23514'), constraint: z.string() });

/** Returns the name of the CHECK that a row violates. */
export const violatedCheck = (error: unknown): string | undefined =>
  CheckError.safeParse(error).data?.constraint;

/** Whether a number is out of the range of its column. */
export const isOutOfRange = (error: unknown): boolean => codeOf(error) === '22003';

/** Whether PostgreSQL rolled back because of another transaction; the same work can be retried. */
export const isConflict = (error: unknown): boolean => /^40(001|P01)$/.test(codeOf(error));

/** Whether the connection was lost before PostgreSQL responded; a pooler reports that with an SQLSTATE of class 08. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof GatewayError) return false;
  return (
    codeOf(error).startsWith('08') ||
    UNAVAILABLE_SYSTEM.test(codeOf(error)) ||
    LOST_MESSAGE.test(error.message)
  );
}

/** The connection was lost before anything could be written: the same work can be tried again. */
export class NothingWritten extends GatewayError {
  constructor(cause: unknown) {
    super('SERVICE_UNAVAILABLE', undefined, cause);
  }
}

/** The connection was lost before PostgreSQL confirmed a write. */
export class OutcomeUnknown extends GatewayError {
  constructor(cause: unknown) {
    super('OUTCOME_UNKNOWN', undefined, cause);
  }
}

// Conflicts with the replay of the log or with other statements; shutting down, starting; no connection left.
const SERVER_SQLSTATE = /^(40(001|P01)|57P0[1-5]|53300)$/;

/** Whether a read that failed may succeed on another server: this one is lost, or has ended the statement. */
export const isServerFault = (error: unknown): boolean =>
  error instanceof NothingWritten || isConnectionLost(error) || SERVER_SQLSTATE.test(codeOf(error));

/** Whether the server only accepts reads: a replica, or a primary that was demoted. Nothing was written. */
export const isReadOnlyServer = (error: unknown): boolean => codeOf(error) === '25006';

/** Whether the database, or anything in the chain of causes, is temporarily unavailable. */
export function isUnavailable(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = codeOf(cause);
    if (
      UNAVAILABLE_SQLSTATE.test(code) ||
      UNAVAILABLE_SYSTEM.test(code) ||
      LOST_MESSAGE.test(cause.message) ||
      TIMEOUT_MESSAGE.test(cause.message)
    ) {
      return true;
    }
  }
  return false;
}

/** Returns why a connection can't be opened; the error has no message if a name has several addresses. */
export function toObstacle(error: unknown): string {
  const reason = error instanceof GatewayError ? error.cause : error;
  const { message, code }: NodeJS.ErrnoException = toError(reason);
  return message || String(code);
}

/** Converts anything thrown to the error that a caller receives; its cause is for the log only. */
export function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const code = isUnavailable(error) ? 'SERVICE_UNAVAILABLE' : 'INTERNAL_SERVER_ERROR';
  return new GatewayError(code, undefined, error);
}
