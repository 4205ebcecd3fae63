import type { IncomingMessage } from 'node:http';

import type { Plugin } from 'graphql-yoga';

import type { Metrics } from '../../telemetry/metrics.ts';
import { operationOf } from '../analysis/operation.ts';
import { usageOf } from '../analysis/usage.ts';

/** Counts, by caller, the root fields and deprecated elements of each operation that is executed. */
export function useMetrics(metrics: Metrics): Plugin<{ req: IncomingMessage }> {
  return {
    onExecute: ({ args: { schema, document, operationName, contextValue } }) => {
      const operation = operationOf(document, operationName);
      if (!operation) return;
      const { roots, deprecated } = usageOf(schema, operation);
      metrics.countCalls(new Set([...roots, ...deprecated]), contextValue.req.headers);
    },
  };
}
