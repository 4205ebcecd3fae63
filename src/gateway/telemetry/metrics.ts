import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';

import { createChangeMetrics } from './change-metrics.ts';
import { createRequestMetrics } from './request-metrics.ts';

export type Metrics = ReturnType<typeof createMetrics>;

interface GatewayFacts {
  readonly version: string;
  /** The deprecated REST operations, and the dates of their deprecation. */
  readonly deprecated: readonly { readonly name: string; readonly since: Date }[];
  readonly sunset: Date;
  readonly maxCost: number;
}

function reportFacts(registers: Registry[], facts: GatewayFacts): void {
  const addFact = (name: string, help: string, ...labelNames: string[]): Gauge =>
    new Gauge({ name, help, labelNames, registers });
  const { version, deprecated, sunset, maxCost } = facts;
  addFact(
    'gateway_build_info',
    'Always 1; its label is the version of the gateway.',
    'version',
  ).set({ version }, 1);
  addFact('graphql_operation_cost_limit', 'Maximum cost of a GraphQL operation.').set(maxCost);
  const since = addFact(
    'operation_deprecated_timestamp_seconds',
    'Time at which a REST operation was deprecated, in seconds since 1970.',
    'operation',
  );
  const until = addFact(
    'operation_sunset_timestamp_seconds',
    'Time after which a deprecated REST operation may stop working, in seconds since 1970.',
    'operation',
  );
  for (const { name: operation, since: deprecatedSince } of deprecated) {
    since.set({ operation }, deprecatedSince.getTime() / 1000);
    until.set({ operation }, sunset.getTime() / 1000);
  }
}

// prom-client 15 can't stop the observers of its default metrics, so each process starts them only once.
let processRegistry: Registry | undefined;

function processMetrics(): Registry {
  if (processRegistry) return processRegistry;
  processRegistry = new Registry();
  const registers = [processRegistry];
  collectDefaultMetrics({ register: processRegistry });
  // OpenTelemetry's nodejs.eventloop.time. Unlike prom-client's event loop lag, it is not reset by each scrape.
  void new Counter({
    name: 'nodejs_eventloop_time_seconds_total',
    help: 'Time that the event loop has been active or idle.',
    labelNames: ['state'],
    registers,
    collect() {
      const { active, idle } = performance.eventLoopUtilization();
      this.reset();
      this.inc({ state: 'active' }, active / 1000);
      this.inc({ state: 'idle' }, idle / 1000);
    },
  });
  void new Gauge({
    name: 'nodejs_heap_size_limit_bytes',
    help: 'Maximum size of the heap; a process that exceeds it crashes.',
    registers,
    collect() {
      this.set(getHeapStatistics().heap_size_limit);
    },
  });
  return processRegistry;
}

/** Creates the metrics of a gateway. `registries` are its own, that of the process and that of the database. */
export function createMetrics(databaseRegistry: Registry, facts: GatewayFacts) {
  const registry = new Registry();
  const registers = [registry];
  reportFacts(registers, facts);
  return {
    ...createRequestMetrics(registers),
    changes: createChangeMetrics(registers),
    registries: [registry, processMetrics(), databaseRegistry],
  };
}
