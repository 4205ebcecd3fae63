import type { IncomingMessage } from 'node:http';

import type { Plugin } from 'graphql-yoga';

import type { Metrics } from '../../telemetry/metrics.ts';
import { usageOf } from '../analysis/usage.ts';

/** Counts who uses which root fields, and what is deprecated: once for each request executed. */
export function useMetrics(metrics: Metrics): Plugin<{ req: IncomingMessage }> {
  return {
    onExecute: ({ args: { schema, document, operationName, contextValue } }) => {
      const { roots, deprecated } = usageOf(schema, document, operationName);
      metrics.countCalls(new Set([...roots, ...deprecated]), contextValue.req.headers);
    },
  };
}
