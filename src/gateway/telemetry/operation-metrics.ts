import { Histogram, type Registry } from 'prom-client';

import { ANONYMOUS, createCallerNames } from './caller-names.ts';
import type { RequestLog } from './request-log.ts';

const MAX_NAMES = 50;
const UNNAMED = 'unnamed';
const TYPES = ['query', 'mutation', 'subscription'];

const COST_BUCKETS = [1, 10, 100, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 1_000_000];

/** Creates the metrics of GraphQL operations; `buckets` are those of durations, in seconds. */
export function createOperationMetrics(registers: Registry[], buckets: number[]) {
  const durations = new Histogram({
    name: 'graphql_operation_duration_seconds',
    help: 'Time from the headers of a request to the end of its response, by the GraphQL operation that it executed.',
    labelNames: ['operation_name', 'operation_type'],
    buckets,
    registers,
  });
  const costs = new Histogram({
    name: 'graphql_operation_cost',
    help: 'Estimated cost of each GraphQL operation that was executed, or rejected because it costs too much.',
    labelNames: ['result'],
    buckets: COST_BUCKETS,
    registers,
  });
  for (const result of ['executed', 'rejected']) costs.zero({ result });
  const labelOf = createCallerNames(MAX_NAMES, (operation_name) => {
    for (const operation_type of TYPES) durations.remove({ operation_name, operation_type });
  });
  const trusted = new Set<string>();
  const nameOf = ({ operationName, isAnonymous }: RequestLog): string => {
    if (operationName === undefined) return UNNAMED;
    if (trusted.has(operationName)) return operationName;
    return isAnonymous ? ANONYMOUS : labelOf(operationName);
  };
  return {
    /** Reports operations of this name by their name, however many other names there are. */
    trustName: (name: string): void => void trusted.add(name),
    /**
     * Observes the operation of a request that has ended after `seconds`; ignores one whose cost was never
     * estimated, as it was not valid or its caller not allowed to execute it.
     */
    observeOperation: (requestLog: RequestLog, seconds: number): void => {
      const { cost, codes, operationType = '' } = requestLog;
      if (cost === undefined) return;
      if (codes?.has('QUERY_TOO_COSTLY')) return costs.observe({ result: 'rejected' }, cost);
      costs.observe({ result: 'executed' }, cost);
      const labels = { operation_name: nameOf(requestLog), operation_type: operationType };
      durations.observe(labels, seconds);
    },
  };
}
