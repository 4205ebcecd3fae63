import { StoreError } from '../../contract/errors.ts';
import { isConnectionLost } from '../errors.ts';

// All statements are the gateway's own. One with WITH writes or locks rows; reads begin with SELECT.
const WRITE = /^\s*(insert|update|delete|with)\b/i;

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

/**
 * Sends a statement outside a transaction.
 * @throws NothingWritten, OutcomeUnknown if the connection is lost before PostgreSQL responds
 */
export async function withOutcome<Result>(
  text: string,
  send: () => Promise<Result>,
): Promise<Result> {
  try {
    return await send();
  } catch (error) {
    if (!isConnectionLost(error)) throw error;
    throw WRITE.test(text) ? new OutcomeUnknown(error) : new NothingWritten(error);
  }
}
