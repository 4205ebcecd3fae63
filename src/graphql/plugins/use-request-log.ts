import { getOperationAST, type OperationDefinitionNode } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import type { RequestRecord } from '../../telemetry/request-log.ts';

const MAX_NAME = 100;

/** The name of an operation as logs and traces have it: at most 100 characters. */
export const nameOf = ({ name }: OperationDefinitionNode): string | undefined =>
  name?.value.slice(0, MAX_NAME);

/** Takes note of the operation of each request, of one that is refused for what it asks too. */
export function useRequestRecord(): Plugin<{ record: RequestRecord }> {
  return {
    onParse:
      () =>
      ({ context: { record, params }, result }) => {
        if (result === null || result instanceof Error) return;
        const operation = getOperationAST(result, params.operationName);
        if (!operation) return;
        record.operationType = operation.operation;
        const name = nameOf(operation);
        if (name !== undefined) record.operationName = name;
      },
  };
}
