import { Registry } from 'prom-client';

import { createChangeMetrics } from './change-metrics.ts';
import { type GatewayFacts, reportFacts } from './gateway-facts.ts';
import { processMetrics } from './process-metrics.ts';
import { createRequestMetrics } from './request-metrics.ts';

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics(databaseRegistry?: Registry, facts?: GatewayFacts) {
  const registry = new Registry();
  const registers = [registry];
  if (facts) reportFacts(registers, facts);
  return {
    ...createRequestMetrics(registers),
    changes: createChangeMetrics(registers),
    /** The registries of this gateway, of the process, and of the database. */
    registries: [registry, processMetrics(), ...(databaseRegistry ? [databaseRegistry] : [])],
  };
}
