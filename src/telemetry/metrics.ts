import type { IncomingHttpHeaders } from 'node:http';

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

// Callers choose their names, so these limits bound the memory and the size of /metrics.
const MAX_CALLERS = 100;
const MAX_NAME_LENGTH = 64;

const METHODS = new Set(['GET', 'HEAD', 'POST', 'OPTIONS']);
const DURATION_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];
const BATCH_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/** How a pool of connections is used. */
export interface PoolUse {
  /** The maximum number of connections. */
  readonly max: number;
  /** Connections, in use or idle. */
  readonly total: number;
  readonly idle: number;
  /** Statements and transactions that wait for a connection. */
  readonly waiting: number;
}

/** The labels of a request. */
interface RequestLabels {
  readonly method: string | undefined;
  /** The path template of its route. */
  readonly route: string;
  readonly status: number | 'aborted';
}

/** The metrics of one gateway. */
export interface Metrics {
  /** Counts one call of each operation: method and path template, or a schema coordinate. */
  readonly countCalls: (operations: Iterable<string>, headers: IncomingHttpHeaders) => void;
  /** Observes the duration of a request in milliseconds. */
  readonly observeRequest: (labels: RequestLabels, ms: number) => void;
  /** Observes the size of a batch of a loader. */
  readonly observeBatch: (loader: string, size: number) => void;
  /** The registry of this gateway, and that of the process. */
  readonly registries: readonly Registry[];
}

const UNKNOWN = 'unknown';
// The first product of a User-Agent (RFC 9110 §10.1.5): "okhttp" in "okhttp/4.12 (Android)".
const PRODUCT = /^[\w!#$%&'*+.^`|~-]+/;

/** Returns the name of a caller from Apollo's header or its User-Agent, or `unknown`. */
function callerNameOf(headers: IncomingHttpHeaders): string {
  const header = headers['apollographql-client-name'];
  const clientName = typeof header === 'string' ? header.trim() : '';
  const name = clientName || PRODUCT.exec(headers['user-agent'] ?? '')?.[0] || UNKNOWN;
  return name.slice(0, MAX_NAME_LENGTH).replaceAll(/[^ -~]/g, '?');
}

/** Creates a function that names callers: the first hundred by their own names, later ones `other`. */
function createCallerNames(): (headers: IncomingHttpHeaders) => string {
  const known = new Set<string>();
  return (headers) => {
    const name = callerNameOf(headers);
    if (name === UNKNOWN || known.has(name)) return name;
    if (known.size >= MAX_CALLERS) return 'other';
    known.add(name);
    return name;
  };
}

// prom-client 15 can't stop the observers of its default metrics, so a process starts them only once.
let processRegistry: Registry | undefined;

/** Returns the registry of this process: memory, CPU, garbage collection and event loop. */
function processMetrics(): Registry {
  if (!processRegistry) {
    processRegistry = new Registry();
    collectDefaultMetrics({ register: processRegistry });
  }
  return processRegistry;
}

function watchPool(poolUse: () => PoolUse, registers: Registry[]): void {
  const help = {
    total: 'Number of connections to PostgreSQL, in use or idle.',
    idle: 'Number of idle connections to PostgreSQL.',
    waiting: 'Number of statements and transactions that wait for a connection.',
  } as const;
  for (const state of ['total', 'idle', 'waiting'] as const) {
    void new Gauge({
      name: `database_pool_${state}`,
      help: help[state],
      registers,
      collect() {
        this.set(poolUse()[state]);
      },
    });
  }
}

/** Creates the metrics of one gateway; those of the pool only if it has one. */
export function createMetrics(poolUse?: () => PoolUse): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const calls = new Counter({
    name: 'operation_calls_total',
    help: 'Number of calls of each REST operation, GraphQL root field and deprecated schema element, by caller.',
    labelNames: ['operation', 'caller'],
    registers,
  });
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its response; the status is aborted if the response was not completed.',
    labelNames: ['method', 'route', 'status'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const batches = new Histogram({
    name: 'dataloader_batch_size',
    help: 'Number of keys in each batch of a loader.',
    labelNames: ['loader'],
    buckets: BATCH_BUCKETS,
    registers,
  });
  if (poolUse) watchPool(poolUse, registers);
  const callerOf = createCallerNames();
  return {
    countCalls: (operations, headers) => {
      const caller = callerOf(headers);
      for (const operation of operations) calls.inc({ operation, caller });
    },
    observeRequest: ({ method = '', route, status }, ms) => {
      const known = METHODS.has(method) ? method : 'other';
      requests.observe({ method: known, route, status }, ms / 1000);
    },
    observeBatch: (loader, size) => batches.observe({ loader }, size),
    registries: [registry, processMetrics()],
  };
}
