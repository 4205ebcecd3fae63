import type { IncomingHttpHeaders } from 'node:http';

import { Counter, Gauge, Registry } from 'prom-client';

import { type ErrorCode, ERRORS } from '../contract/error-codes.ts';
import { DEPRECATED } from '../contract/lifecycle.ts';
import { ANONYMOUS, createCallerNames } from './caller-names.ts';
import { type GatewayFacts, reportFacts } from './gateway-facts.ts';
import { keepByKey, SeriesHistogram } from './histogram.ts';
import { createOperationMetrics, type OperationMetrics } from './operation-metrics.ts';
import { processMetrics } from './process-metrics.ts';
import type { RequestLog } from './request-log.ts';
import { createStreamMetrics, type StreamMetrics } from './stream-metrics.ts';

const MAX_CALLERS = 100;
const MAX_NAME_LENGTH = 64;

const METHODS = new Set(['GET', 'HEAD', 'POST', 'OPTIONS']);
/** The bounds of the durations of requests, in seconds. */
export const DURATION_BUCKETS = [
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

/** What the metrics of a gateway report besides its requests. */
interface MetricsOptions {
  /** How the pool is used, if there is one. */
  readonly poolUse?: (() => PoolUse) | undefined;
  /** The registry of the database. */
  readonly databaseRegistry?: Registry;
  readonly facts?: GatewayFacts;
}

/** The metrics of one gateway. */
export interface Metrics {
  /**
   * Counts one call of each operation: method and path template, or a schema coordinate. The headers name the
   * caller, unless it has sent no token although tokens are used.
   */
  readonly countCalls: (
    operations: Iterable<string>,
    headers: IncomingHttpHeaders,
    isAnonymous?: boolean,
  ) => void;
  /** Counts a request that has begun; observeRequest must be called at its end. */
  readonly beginRequest: () => void;
  /** Observes a request that has ended: its duration in milliseconds, its errors and its operation. */
  readonly observeRequest: (labels: RequestLabels, ms: number, requestLog: RequestLog) => void;
  readonly trustName: OperationMetrics['trustName'];
  readonly streams: StreamMetrics;
  /** Observes the size of a batch of a loader. */
  readonly observeBatch: (loader: string, size: number) => void;
  /** The registry of this gateway, that of the process, and that of the database. */
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

/**
 * Creates a function that counts the calls of operations. A caller of a deprecated operation keeps its name:
 * one that calls it once a month still has to move before the sunset.
 */
function createCountCalls(registers: Registry[]): Metrics['countCalls'] {
  const calls = new Counter({
    name: 'operation_calls_total',
    help: 'Number of calls of each REST operation, GraphQL root field and deprecated schema element, by caller.',
    labelNames: ['operation', 'caller'],
    registers,
  });
  const operationsOf = new Map<string, Set<string>>();
  const labelOf = createCallerNames(MAX_CALLERS, (caller) => {
    for (const operation of operationsOf.get(caller) ?? []) calls.remove({ operation, caller });
    operationsOf.delete(caller);
  });
  return (operations, headers, isAnonymous) => {
    let isKept = false;
    for (const operation of operations) isKept ||= DEPRECATED.has(operation);
    const caller = isAnonymous ? ANONYMOUS : labelOf(callerNameOf(headers), isKept);
    const called = operationsOf.get(caller) ?? new Set();
    operationsOf.set(caller, called);
    for (const operation of operations) {
      called.add(operation);
      calls.inc({ operation, caller });
    }
  };
}

function watchPool(poolUse: () => PoolUse, registers: Registry[]): void {
  const help = {
    max: 'Maximum number of connections to PostgreSQL.',
    total: 'Number of connections to PostgreSQL, in use or idle.',
    idle: 'Number of idle connections to PostgreSQL.',
    waiting: 'Number of statements and transactions that wait for a connection.',
  } as const;
  for (const state of ['max', 'total', 'idle', 'waiting'] as const) {
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

function countActive(registers: Registry[]): { begin: () => void; end: () => void } {
  let active = 0;
  void new Gauge({
    name: 'http_active_requests',
    help: 'Number of requests that have begun and not yet ended.',
    registers,
    collect() {
      this.set(active);
    },
  });
  return {
    begin: () => {
      active += 1;
    },
    end: () => {
      active -= 1;
    },
  };
}

const SERVER_ERRORS = Object.entries(ERRORS).flatMap(([code, { status }]) =>
  status >= 500 ? code : [],
);

/** Creates a function that counts the error codes of a request to a route. */
function countErrors(registers: Registry[]): (route: string, codes?: Iterable<ErrorCode>) => void {
  const errors = new Counter({
    name: 'request_errors_total',
    help: 'Number of requests with an error in their response, also in the data of GraphQL, by its code.',
    labelNames: ['route', 'code'],
    registers,
  });
  const known = new Set<string>();
  return (route, codes = []) => {
    if (!known.has(route)) {
      known.add(route);
      // A counter that begins with 1 has no increase for Prometheus.
      for (const code of SERVER_ERRORS) errors.inc({ route, code }, 0);
    }
    for (const code of codes) errors.inc({ route, code });
  };
}

/** Creates the metrics of one gateway. */
export function createMetrics({ poolUse, databaseRegistry, facts }: MetricsOptions = {}): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const requests = new SeriesHistogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its response; the status is aborted if the response was not completed.',
    labelNames: ['method', 'route', 'status'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const batches = new SeriesHistogram({
    name: 'dataloader_batch_size',
    help: 'Number of keys in each batch of a loader.',
    labelNames: ['loader'],
    buckets: BATCH_BUCKETS,
    registers,
  });
  if (poolUse) watchPool(poolUse, registers);
  if (facts) reportFacts(registers, facts);
  const active = countActive(registers);
  const addErrors = countErrors(registers);
  const { trustName, observeOperation } = createOperationMetrics(registers, DURATION_BUCKETS);
  // A map of functions by the labels, as one word each.
  const observeBy = keepByKey((key) => {
    const [method = '', route = '', status = ''] = key.split(' ');
    return requests.createSeries({ method, route, status });
  });
  const observeBatchOf = keepByKey((loader) => batches.createSeries({ loader }));
  return {
    countCalls: createCountCalls(registers),
    beginRequest: active.begin,
    observeRequest: ({ method = '', route, status }, ms, requestLog) => {
      active.end();
      const known = METHODS.has(method) ? method : 'other';
      addErrors(route, requestLog.codes);
      // A stream takes as long as its caller wants.
      if (requestLog.isStream) return;
      observeBy(`${known} ${route} ${status}`)(ms / 1000);
      observeOperation(requestLog, ms / 1000);
    },
    trustName,
    streams: createStreamMetrics(registers),
    observeBatch: (loader, size) => observeBatchOf(loader)(size),
    registries: [registry, processMetrics(), ...(databaseRegistry ? [databaseRegistry] : [])],
  };
}
