import { z } from 'zod';

import { StoreError } from '../contract/errors.ts';
import { Prisma } from './generated/prisma/client.ts';

// Prisma's codes for a database that can't be reached, is too slow or too busy.
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
// The same as SQLSTATE (PostgreSQL, appendix A): nothing in the request or in the gateway is wrong, and
// the same request can succeed once the database, its machine or who operates them is done.
const UNAVAILABLE_SQLSTATE = new RegExp(
  `^(${[
    '08...', // connection exceptions
    '25006', // takes no writes: a standby, a primary that was demoted, or an operator said so
    '25P0[34]', // a transaction was idle, or took, too long
    '28...', // the role may not log in, as while its password is changed
    '3D000', // the database is gone, as while it is restored
    '40(001|003|P01)', // undone for other transactions, after every retry
    '53...', // no disk, memory or connection left
    '55P03', // a lock was not to be had in time
    '57...', // cancelled, shutting down, starting, dropped
    '58...', // errors of the disk or the operating system
    'XX00[12]', // damaged data or index: an operator has to repair it, or to fail over
  ].join('|')})$`,
);
const UNAVAILABLE_SYSTEM = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/;
// The same as pg says it, which gives no code.
const UNAVAILABLE_MESSAGE =
  /^(Query read timeout|timeout e|Connection terminated|Client has encountered a connection error)/;

const CONFLICT_SQLSTATE = /^40(001|P01)$/;
// Values that break a rule, conflicts with others, limits: they end the statement alone. After any
// other error the connection may be of no more use, as with a plan that a migration made outdated or
// a server that takes no more writes.
const SPARING_SQLSTATE = /^(2[23]...|40...|53[124]00|55P03|57014|P0...)$/;
const FOREIGN_KEY_SQLSTATE = '23503';
const RANGE_SQLSTATE = '22003';

type Known = Prisma.PrismaClientKnownRequestError;

const isKnown = (error: unknown): error is Known =>
  error instanceof Prisma.PrismaClientKnownRequestError;

// Prisma's driver has it in `cause`, and Prisma's API has the driver's error in `meta`.
const OfDriver = z.object({ cause: z.object({ originalCode: z.string() }) });
const OfPrisma = z.object({ meta: z.object({ driverAdapterError: OfDriver }) });

/** The SQLSTATE of an error, as the driver says it or as Prisma passes it on; empty if it has none. */
function sqlStateOf(error: unknown): string {
  const driverError = OfPrisma.safeParse(error).data?.meta.driverAdapterError;
  const cause = (driverError ?? OfDriver.safeParse(error).data)?.cause;
  if (cause) return cause.originalCode;
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Whether a connection can be used again after an error that PostgreSQL reported on it. */
export const keepsConnection = (error: Error): boolean =>
  SPARING_SQLSTATE.test(sqlStateOf(error)) && !('severity' in error && error.severity === 'FATAL');

/** A foreign key was broken: what a row points to is not there, or what is deleted is in use. */
export const isForeignKeyViolation = (error: unknown): boolean =>
  (isKnown(error) && error.code === 'P2003') || sqlStateOf(error) === FOREIGN_KEY_SQLSTATE;

/** What should have been changed or deleted is not there. */
export const isRecordNotFound = (error: unknown): boolean =>
  isKnown(error) && error.code === 'P2025';

/** A number left the range of its column. */
export const isOutOfRange = (error: unknown): boolean =>
  (isKnown(error) && error.code === 'P2020') || sqlStateOf(error) === RANGE_SQLSTATE;

/** PostgreSQL undid the work, so that another transaction could go on: it may be tried again. */
export function isConflict(error: unknown): boolean {
  if (isKnown(error) && error.code === 'P2034') return true;
  if (CONFLICT_SQLSTATE.test(sqlStateOf(error))) return true;
  // The same as Prisma's driver says it.
  const cause = error instanceof Error ? error.cause : undefined;
  return z.object({ kind: z.literal('TransactionWriteConflict') }).safeParse(cause).success;
}

/** Whether the database can't be reached, or can't do anything at the moment. */
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

/** What a caller is told of anything that was thrown; the cause is kept, for the log alone. */
export function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const code = isUnavailable(error) ? 'SERVICE_UNAVAILABLE' : 'INTERNAL_SERVER_ERROR';
  return new StoreError(code, undefined, error);
}
