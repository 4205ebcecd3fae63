import { Gauge, type Registry } from 'prom-client';

/** Facts that do not change while the gateway runs. */
export interface GatewayFacts {
  readonly version: string;
  /** The deprecated REST operations, and the dates of their deprecation. */
  readonly deprecated: readonly { readonly name: string; readonly since: Date }[];
  readonly sunset: Date;
  readonly maxCost: number;
}

export function reportFacts(registers: Registry[], facts: GatewayFacts): void {
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
