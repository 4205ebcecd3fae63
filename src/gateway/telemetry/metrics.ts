import { Registry } from 'prom-client';

import { createChangeLogMetrics } from './change-log-metrics.ts';
import { type GatewayFacts, reportFacts } from './gateway-facts.ts';
import { processMetrics } from './process-metrics.ts';
import { createRequestMetrics } from './request-metrics.ts';
import { createStreamMetrics } from './stream-metrics.ts';

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics(databaseRegistry?: Registry, facts?: GatewayFacts) {
  const registry = new Registry();
  const registers = [registry];
  if (facts) reportFacts(registers, facts);
  return {
    ...createRequestMetrics(registers),
    streams: createStreamMetrics(registers),
    setLogSize: createChangeLogMetrics(registers),
    /** The registries of this gateway, of the process, and of the database. */
    registries: [registry, processMetrics(), ...(databaseRegistry ? [databaseRegistry] : [])],
  };
}
