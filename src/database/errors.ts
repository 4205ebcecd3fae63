import { z } from 'zod';

import { StoreError } from '../contract/errors.ts';
import { Prisma } from './generated/prisma/client.ts';

// Prisma's codes for a database that is unreachable, too slow or too busy.
const UNAVAILABLE = new Set([
  'P1000',
  'P1001',
  'P1002',
  'P1003',
  'P1008',
  'P1011',
  'P1017',
  'P2024',
  'P2028',
  'P2034',
  'P2037',
]);
// The same as SQLSTATE (PostgreSQL, appendix A): neither the request nor the gateway is at fault, and
// the same request can succeed when the database or its machine is available again.
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
// The same as messages of pg, for errors that have no code.
const UNAVAILABLE_MESSAGE =
  /^(Query read timeout|timeout e|Connection terminated|Client has encountered a connection error)/;

const CONFLICT_SQLSTATE = /^40(001|P01)$/;
// Invalid values, conflicts and limits: such an error ends only the statement. After any other error the
// connection may be unusable, for example because a migration made a cached plan invalid or the server
// has become read-only.
const STATEMENT_SQLSTATE = /^(2[23]...|40...|53[124]00|55P03|57014|P0...)$/;
const FOREIGN_KEY_SQLSTATE = '23503';
const RANGE_SQLSTATE = '22003';

type Known = Prisma.PrismaClientKnownRequestError;

const isKnown = (error: unknown): error is Known =>
  error instanceof Prisma.PrismaClientKnownRequestError;

// A driver adapter of Prisma has the SQLSTATE in `cause`; Prisma's API has the adapter's error in `meta`.
const AdapterError = z.object({ cause: z.object({ originalCode: z.string() }) });
const PrismaError = z.object({ meta: z.object({ driverAdapterError: AdapterError }) });

/** Returns the SQLSTATE of an error of pg, PGlite or Prisma; empty if it has none. */
function sqlStateOf(error: unknown): string {
  const adapterError = PrismaError.safeParse(error).data?.meta.driverAdapterError;
  const cause = (adapterError ?? AdapterError.safeParse(error).data)?.cause;
  if (cause) return cause.originalCode;
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

const Fatal = z.object({ severity: z.literal('FATAL') });

/** Whether an error ended its connection. */
const isFatal = (error: Error): boolean =>
  Fatal.safeParse(error).success || Fatal.safeParse(error.cause).success;

/** Whether a connection can be used again after an error that PostgreSQL reported on it. */
export const keepsConnection = (error: Error): boolean =>
  STATEMENT_SQLSTATE.test(sqlStateOf(error)) && !isFatal(error);

// After these a statement may have been committed: a lost connection, a shutdown, a failed disk. Poolers
// report them with any severity, and PostgreSQL translates the severity, so `ERROR` says too little.
const UNCERTAIN_SQLSTATE = /^(08...|40003|57P..|58...|XX...)$/;
const Reported = z.object({ severity: z.string(), code: z.string() });

/** Whether a statement was certainly rolled back. */
export const isRolledBack = (error: unknown): boolean =>
  error instanceof Error &&
  Reported.safeParse(error).success &&
  !isFatal(error) &&
  !UNCERTAIN_SQLSTATE.test(sqlStateOf(error));

/** Whether a row can't be deleted, as rows of any table refer to it. */
export const isStillReferenced = (error: unknown): boolean =>
  (isKnown(error) && error.code === 'P2003') || sqlStateOf(error) === FOREIGN_KEY_SQLSTATE;

// Prisma's adapters have the name of a foreign key in their own place.
const AdapterForeignKey = z.object({
  meta: z.object({
    driverAdapterError: z.object({
      cause: z.object({ constraint: z.object({ index: z.string() }) }),
    }),
  }),
});
const ForeignKey = z.object({ constraint: z.string() });

/** Whether a row that a foreign key of this name refers to does not exist: a table can have several. */
export function isMissingReference(error: unknown, foreignKey: string): boolean {
  if (!isStillReferenced(error)) return false;
  const ofAdapter = AdapterForeignKey.safeParse(error).data?.meta.driverAdapterError.cause;
  const name = ofAdapter?.constraint.index ?? ForeignKey.safeParse(error).data?.constraint;
  return name === foreignKey;
}

/** Whether the row to change or delete does not exist. */
export const isRecordNotFound = (error: unknown): boolean =>
  isKnown(error) && error.code === 'P2025';

/** Whether a number is out of the range of its column. */
export const isOutOfRange = (error: unknown): boolean =>
  (isKnown(error) && error.code === 'P2020') || sqlStateOf(error) === RANGE_SQLSTATE;

/** Whether PostgreSQL rolled back because of another transaction; the same work can be retried. */
export function isConflict(error: unknown): boolean {
  if (isKnown(error) && error.code === 'P2034') return true;
  if (CONFLICT_SQLSTATE.test(sqlStateOf(error))) return true;
  // The error of Prisma's driver adapter.
  const cause = error instanceof Error ? error.cause : undefined;
  return z.object({ kind: z.literal('TransactionWriteConflict') }).safeParse(cause).success;
}

// The same for a connection that is lost. Not `timeout exceeded`: then all connections are in use.
const LOST_MESSAGE =
  /^(Query read timeout|Connection terminated|Client has encountered a connection error)/;
// The same in Prisma's driver adapter.
const LostConnection = z.object({
  cause: z.object({ kind: z.enum(['ConnectionClosed', 'SocketTimeout']) }),
});

/** Whether the connection was lost before PostgreSQL responded; a pooler reports that with an SQLSTATE of class 08. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof StoreError) return false;
  return (
    LostConnection.safeParse(error).success ||
    sqlStateOf(error).startsWith('08') ||
    UNAVAILABLE_SYSTEM.test('code' in error ? String(error.code) : '') ||
    LOST_MESSAGE.test(error.message)
  );
}

/** The connection was lost before anything could be written: the same work can be tried again. */
export class NothingWritten extends StoreError {
  constructor(cause: unknown) {
    super('SERVICE_UNAVAILABLE', undefined, cause);
  }
}

/** The connection was lost before PostgreSQL confirmed a write. */
export class OutcomeUnknown extends StoreError {
  constructor(cause: unknown) {
    super('OUTCOME_UNKNOWN', undefined, cause);
  }
}

// Conflicts with the replay of the log or with other statements; shutting down, starting; no connection left.
const SERVER_SQLSTATE = /^(40(001|P01)|57P0[1-5]|53300)$/;

/** Whether a read that failed may succeed on another server: this one is lost, or has ended the statement. */
export const isServerFault = (error: unknown): boolean =>
  error instanceof NothingWritten ||
  isConnectionLost(error) ||
  SERVER_SQLSTATE.test(sqlStateOf(error));

/** Whether the server only accepts reads: a replica, or a primary that was demoted. Nothing was written. */
export const isReadOnlyServer = (error: unknown): boolean => sqlStateOf(error) === '25006';

/** Whether the database, or anything in the chain of causes, is temporarily unavailable. */
export function isUnavailable(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause ? String(cause.code) : '';
    if (
      cause instanceof Prisma.PrismaClientInitializationError ||
      UNAVAILABLE.has(code) ||
      UNAVAILABLE_SQLSTATE.test(sqlStateOf(cause)) ||
      UNAVAILABLE_SYSTEM.test(code) ||
      UNAVAILABLE_MESSAGE.test(cause.message)
    ) {
      return true;
    }
  }
  return false;
}

/** Converts anything thrown to the error that a caller receives; its cause is for the log only. */
export function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  // Thrown by PrimaryAdapter.
  if (error instanceof Error && error.cause instanceof StoreError) return error.cause;
  const code = isUnavailable(error) ? 'SERVICE_UNAVAILABLE' : 'INTERNAL_SERVER_ERROR';
  return new StoreError(code, undefined, error);
}
