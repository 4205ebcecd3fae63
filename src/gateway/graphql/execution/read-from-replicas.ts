import { type ExecutionResult, OperationTypeNode } from 'graphql';

import { formatPosition, POSITION_HEADER, positionOf } from '../../database/cluster/position.ts';
import { isServerFault, toGatewayError } from '../../database/database-errors.ts';
import type { Reads } from '../../tables/reads.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Call, Step } from './call.ts';

class FailedResult extends Error {
  readonly result: ExecutionResult;

  constructor(result: ExecutionResult, cause: Error) {
    super('A server failed.', { cause });
    this.result = result;
  }
}

/** Throws if a result contains an error that another server might not return. */
function requireServer(result: ExecutionResult): ExecutionResult {
  for (const { originalError } of result.errors ?? []) {
    if (originalError && isServerFault(originalError)) {
      throw new FailedResult(result, originalError);
    }
  }
  return result;
}

/** Adds a header to the response: the log position after the mutation. */
async function addPosition({ context }: Call, reads: Reads, log: Log): Promise<void> {
  try {
    const position = formatPosition(await reads.readPosition());
    // After a timeout, the response has already been sent.
    if (!context.res.headersSent) context.res.setHeader(POSITION_HEADER, position);
  } catch (error) {
    // The mutation is complete, so its result must reach the caller.
    if (!toGatewayError(error).isLogged) return;
    log.warn({ err: error, requestId: context.requestLog.id }, 'The log position is unknown.');
  }
}

/**
 * Executes queries on a replica, or on the primary if no replica is suitable. If a replica fails, the whole query is
 * executed on another server, so all parts of a result come from one server. Mutations use the primary. Their HTTP
 * responses have a header with a log position, which clients can send with later requests to read what was written.
 */
export const readFromReplicas =
  (reads: Reads, log: Log): Step =>
  (next) =>
  async (call) => {
    const { operation, context } = call;
    if (operation.node.operation !== OperationTypeNode.QUERY) {
      const result = await next(call);
      if (result.data) await addPosition(call, reads, log);
      return result;
    }
    const position = positionOf(context.req.headers);
    try {
      return await reads.read(position, async (source) => {
        context.source = source;
        return requireServer(await next(call));
      });
    } catch (error) {
      if (error instanceof FailedResult) return error.result;
      throw error;
    }
  };
