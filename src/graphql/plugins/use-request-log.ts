import { getOperationAST, type OperationDefinitionNode } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import type { RequestLog } from '../../telemetry/request-log.ts';

const MAX_NAME = 100;

/** The name of an operation as logs and traces have it: at most 100 characters. */
export const operationNameOf = ({ name }: OperationDefinitionNode): string | undefined =>
  name?.value.slice(0, MAX_NAME);

/** Takes note of the operation of each request, of one that is refused for what it asks too. */
export function useRequestLog(): Plugin<{ requestLog: RequestLog }> {
  return {
    onParse:
      () =>
      ({ context: { requestLog, params }, result }) => {
        if (result === null || result instanceof Error) return;
        const operation = getOperationAST(result, params.operationName);
        if (!operation) return;
        requestLog.operationType = operation.operation;
        const name = operationNameOf(operation);
        if (name !== undefined) requestLog.operationName = name;
      },
  };
}
