import { isConnectionLost, NothingWritten, OutcomeUnknown } from '../errors.ts';

// All statements are the gateway's own. One with WITH writes or locks rows; reads begin with SELECT.
const WRITE = /^\s*(insert|update|delete|with)\b/i;

export const isWrite = (text: string): boolean => WRITE.test(text);

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
    throw isWrite(text) ? new OutcomeUnknown(error) : new NothingWritten(error);
  }
}
