import type { IncomingHttpHeaders } from 'node:http';

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

// A caller chooses its own name: beyond these limits it must take neither memory nor the answer.
const MAX_CALLERS = 100;
const MAX_NAME = 64;

const METHODS = new Set(['GET', 'HEAD', 'POST', 'OPTIONS']);
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const BATCHES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/** How many connections a pool has, how many are free, and how many requests wait for one. */
export interface PoolUse {
  readonly total: number;
  readonly idle: number;
  readonly waiting: number;
}

/** How a request ended. */
interface RequestEnd {
  readonly method: string | undefined;
  /** The template of its path. */
  readonly route: string;
  readonly status: number | 'aborted';
}

/** What one gateway counts. */
export interface Metrics {
  /** Counts one call of each operation: method and path template, or a schema coordinate. */
  readonly countCalls: (operations: Iterable<string>, headers: IncomingHttpHeaders) => void;
  /** Takes how a request ended, and how many milliseconds that took. */
  readonly observeRequest: (ending: RequestEnd, ms: number) => void;
  /** Observes the size of a batch of a loader. */
  readonly observeBatch: (loader: string, size: number) => void;
  /** Everything to show: this gateway's registry and that of the process. */
  readonly registries: readonly Registry[];
}

const UNKNOWN = 'unknown';
// The name of the first product (RFC 9110 §10.1.5): "okhttp" of "okhttp/4.12 (Android)".
const PRODUCT = /^[\w!#$%&'*+.^`|~-]+/;

/** The name by which a caller goes: its own, that of its program, or `unknown`. */
function callerNameOf(headers: IncomingHttpHeaders): string {
  const given = headers['apollographql-client-name'];
  const name = typeof given === 'string' ? given.trim() : '';
  const chosen = name || PRODUCT.exec(headers['user-agent'] ?? '')?.[0] || UNKNOWN;
  return chosen.slice(0, MAX_NAME).replaceAll(/[^ -~]/g, '?');
}

/** Makes what names callers: the first hundred each by its own name, all later ones `other`. */
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

// prom-client 15 has no end for the observers that these start, so that a process has them once.
let processRegistry: Registry | undefined;

/** Memory, CPU, garbage collection and event loop of this process, whatever gateways are in it. */
function processMetrics(): Registry {
  if (!processRegistry) {
    processRegistry = new Registry();
    collectDefaultMetrics({ register: processRegistry });
  }
  return processRegistry;
}

function watchPool(poolUse: () => PoolUse, registers: Registry[]): void {
  const states = {
    total: 'Connections to PostgreSQL, in use or not.',
    idle: 'Connections to PostgreSQL that are free.',
    waiting: 'Statements and transactions that wait for a connection.',
  } as const;
  for (const state of ['total', 'idle', 'waiting'] as const) {
    void new Gauge({
      name: `database_pool_${state}`,
      help: states[state],
      registers,
      collect() {
        this.set(poolUse()[state]);
      },
    });
  }
}

/** Makes the metrics of one gateway; without a pool, none of it. */
export function createMetrics(poolUse?: () => PoolUse): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const calls = new Counter({
    name: 'operation_calls_total',
    help: 'Calls of each REST operation, GraphQL root field and deprecated part of the schema, by caller.',
    labelNames: ['operation', 'caller'],
    registers,
  });
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'From the head of a request to the end of its answer; status is aborted where that was cut off.',
    labelNames: ['method', 'route', 'status'],
    buckets: SECONDS,
    registers,
  });
  const batches = new Histogram({
    name: 'dataloader_batch_size',
    help: 'How many look-ups shared a batch.',
    labelNames: ['loader'],
    buckets: BATCHES,
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
