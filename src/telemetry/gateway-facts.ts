import { Gauge, type Registry } from 'prom-client';

import { GRAPHQL_LIFECYCLES, type Lifecycle, REST_LIFECYCLES } from '../contract/lifecycle.ts';

/** What does not change while a gateway runs. */
export interface GatewayFacts {
  readonly version: string;
  /** The sunset of deprecated REST operations. */
  readonly sunset: Date;
  /** The maximum cost of an operation. */
  readonly maxCost: number;
}

const toSeconds = (date: Date): number => date.getTime() / 1000;

/** Reports since when each operation and schema element is deprecated, and until when it works. */
function reportDeprecations(registers: Registry[], sunset: Date): void {
  // The facts of all workers are the same.
  const shared = { labelNames: ['operation'], registers, aggregator: 'max' } as const;
  const since = new Gauge({
    ...shared,
    name: 'operation_deprecated_timestamp_seconds',
    help: 'Time since which a REST operation or GraphQL schema element is deprecated, in seconds since 1970.',
  });
  const until = new Gauge({
    ...shared,
    name: 'operation_sunset_timestamp_seconds',
    help: 'Time from which a deprecated REST operation may stop working, in seconds since 1970.',
  });
  const rest: [string, Lifecycle][] = Object.entries(REST_LIFECYCLES);
  for (const [operation, { deprecatedSince }] of [...rest, ...GRAPHQL_LIFECYCLES]) {
    if (deprecatedSince) since.set({ operation }, toSeconds(deprecatedSince));
  }
  for (const [operation, { deprecatedSince }] of rest) {
    if (deprecatedSince) until.set({ operation }, toSeconds(sunset));
  }
}

/** Adds the metrics that stay the same while a gateway runs. */
export function reportFacts(registers: Registry[], facts: GatewayFacts): void {
  const { version, sunset, maxCost } = facts;
  const build = new Gauge({
    name: 'gateway_build_info',
    help: 'Always 1; its label is the version of the gateway.',
    labelNames: ['version'],
    registers,
    aggregator: 'max',
  });
  build.set({ version }, 1);
  const limit = new Gauge({
    name: 'graphql_operation_cost_limit',
    help: 'Maximum cost of a GraphQL operation.',
    registers,
    aggregator: 'max',
  });
  limit.set(maxCost);
  reportDeprecations(registers, sunset);
}
