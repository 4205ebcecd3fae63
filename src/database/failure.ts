import { StoreError } from '../errors.ts';
import { Prisma } from './generated/prisma/client.ts';

// Prisma's codes for a database that can't be reached, is too slow, or has no free connection.
const UNREACHABLE = new Set([
  'P1000',
  'P1001',
  'P1002',
  'P1003',
  'P1008',
  'P1011',
  'P1017',
  'P2024',
  'P2037',
]);
// The same as SQLSTATE: connection exceptions, no free connection, the server is shutting down.
const UNREACHABLE_SQLSTATE = /^(08...|53300|57P0[123])$/;
const UNREACHABLE_SYSTEM = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/;

type Known = Prisma.PrismaClientKnownRequestError;

const isKnown = (error: unknown): error is Known =>
  error instanceof Prisma.PrismaClientKnownRequestError;

/** A foreign key was broken: what a row points to is not there, or what is deleted is in use. */
export const isForeignKeyViolation = (error: unknown): boolean =>
  isKnown(error) && error.code === 'P2003';

/** What should have been changed or deleted is not there. */
export const isRecordNotFound = (error: unknown): boolean =>
  isKnown(error) && error.code === 'P2025';

/** A number left the range of its column; SQLSTATE 22003, which raw statements show as P2010. */
export const isOutOfRange = (error: unknown): boolean =>
  isKnown(error) && (error.code === 'P2020' || /\b22003\b|out of range/i.test(error.message));

function isUnreachable(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause ? String(cause.code) : '';
    if (
      cause instanceof Prisma.PrismaClientInitializationError ||
      UNREACHABLE.has(code) ||
      UNREACHABLE_SQLSTATE.test(code) ||
      UNREACHABLE_SYSTEM.test(code)
    ) {
      return true;
    }
  }
  return false;
}

/** What a caller is told of anything that was thrown; the cause is kept, for the log alone. */
export function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const code = isUnreachable(error) ? 'SERVICE_UNAVAILABLE' : 'INTERNAL_SERVER_ERROR';
  return new StoreError(code, undefined, error);
}
