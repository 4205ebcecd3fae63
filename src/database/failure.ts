import { z } from 'zod';

import { StoreError } from '../errors.ts';
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
// The same as SQLSTATE: connection exceptions, no free connection, time limits of idle transactions,
// locks and statements, the server is shutting down.
const UNAVAILABLE_SQLSTATE = /^(08...|53300|25P0[34]|55P03|57014|57P0[123])$/;
const UNAVAILABLE_SYSTEM = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/;
// The same as pg says it, which gives no code.
const UNAVAILABLE_MESSAGE =
  /^(Query read timeout|timeout e|Connection terminated|Client has encountered a connection error)/;

const CONFLICT_SQLSTATE = /^40(001|P01)$/;
const FOREIGN_KEY_SQLSTATE = '23503';
const RANGE_SQLSTATE = '22003';

type Known = Prisma.PrismaClientKnownRequestError;

const isKnown = (error: unknown): error is Known =>
  error instanceof Prisma.PrismaClientKnownRequestError;

const Meta = z.object({
  driverAdapterError: z.object({ cause: z.object({ originalCode: z.string() }) }),
});

/** The SQLSTATE of an error, as the driver says it or as Prisma passes it on. */
function sqlStateOf(error: unknown): string {
  if (isKnown(error)) {
    return Meta.safeParse(error.meta).data?.driverAdapterError.cause.originalCode ?? '';
  }
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

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

function isUnavailable(error: unknown): boolean {
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
