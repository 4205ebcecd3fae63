import { isConnectionLost, NothingWritten, OutcomeUnknown } from '../errors.ts';

/**
 * Sends a statement outside a transaction.
 * @throws NothingWritten, or OutcomeUnknown if it writes: the connection is lost before PostgreSQL responds
 */
export async function withOutcome<Result>(
  writes: boolean,
  send: () => Promise<Result>,
): Promise<Result> {
  try {
    return await send();
  } catch (error) {
    if (!isConnectionLost(error)) throw error;
    throw writes ? new OutcomeUnknown(error) : new NothingWritten(error);
  }
}
