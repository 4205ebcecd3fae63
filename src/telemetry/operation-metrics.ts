import type { Registry } from 'prom-client';

import { ANONYMOUS, createCallerNames } from './caller-names.ts';
import { keepByKey, SeriesHistogram } from './histogram.ts';
import type { RequestLog } from './request-log.ts';

const MAX_NAMES = 50;
const UNNAMED = 'unnamed';
const TYPES = ['query', 'mutation', 'subscription'];

const COST_BUCKETS = [1, 10, 100, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 1_000_000];

/** The metrics of GraphQL operations. */
export interface OperationMetrics {
  /** Reports operations of this name by their name, however many other names there are. */
  readonly trustName: (name: string) => void;
  /**
   * Observes the operation of a request that has ended after `seconds`; ignores one whose cost was never
   * estimated, as it was not valid or its caller not allowed to execute it.
   */
  readonly observeOperation: (requestLog: RequestLog, seconds: number) => void;
}

/** Creates the metrics of GraphQL operations; `buckets` are those of durations, in seconds. */
export function createOperationMetrics(registers: Registry[], buckets: number[]): OperationMetrics {
  const durations = new SeriesHistogram({
    name: 'graphql_operation_duration_seconds',
    help: 'Time from the headers of a request to the end of its response, by the GraphQL operation that it executed.',
    labelNames: ['operation_name', 'operation_type'],
    buckets,
    registers,
  });
  const costs = new SeriesHistogram({
    name: 'graphql_operation_cost',
    help: 'Estimated cost of each GraphQL operation that was executed, or rejected because it costs too much.',
    labelNames: ['result'],
    buckets: COST_BUCKETS,
    registers,
  });
  const observeExecuted = costs.createSeries({ result: 'executed' });
  const observeRejected = costs.createSeries({ result: 'rejected' });
  const known = new Map<string, (seconds: number) => void>();
  const observeBy = keepByKey((key) => {
    const [type = '', name = ''] = key.split(' ');
    return durations.createSeries({ operation_name: name, operation_type: type });
  }, known);
  const labelOf = createCallerNames(MAX_NAMES, (name) => {
    for (const type of TYPES) known.delete(`${type} ${name}`);
    durations.removeSeries('operation_name', name);
  });
  const trusted = new Set<string>();
  const nameOf = ({ operationName, isAnonymous }: RequestLog): string => {
    if (operationName === undefined) return UNNAMED;
    if (trusted.has(operationName)) return operationName;
    return isAnonymous ? ANONYMOUS : labelOf(operationName);
  };
  return {
    trustName: (name) => void trusted.add(name),
    observeOperation: (requestLog, seconds) => {
      const { cost, codes, operationType = '' } = requestLog;
      if (cost === undefined) return;
      if (codes?.has('QUERY_TOO_COSTLY')) return observeRejected(cost);
      observeExecuted(cost);
      observeBy(`${operationType} ${nameOf(requestLog)}`)(seconds);
    },
  };
}
