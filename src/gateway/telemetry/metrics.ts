import type { IncomingHttpHeaders } from 'node:http';

import { Counter, Gauge, Histogram, Registry } from 'prom-client';

import { ERRORS } from '../contract/error-codes.ts';
import { ANONYMOUS, createCallerNames } from './caller-names.ts';
import { type GatewayFacts, reportFacts } from './gateway-facts.ts';
import type { Log } from './log.ts';
import { createOperationMetrics } from './operation-metrics.ts';
import { processMetrics } from './process-metrics.ts';
import { type RequestEnd, type RequestLog, writeRequestLog } from './request-log.ts';
import { createStreamMetrics } from './stream-metrics.ts';

const MAX_CALLERS = 100;
const MAX_NAME_LENGTH = 64;

const METHODS = new Set(['GET', 'HEAD', 'POST', 'OPTIONS']);
/** The bounds of the durations of requests, in seconds. */
const DURATION_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];
const BATCH_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/** The metrics of one gateway. */
export type Metrics = ReturnType<typeof createMetrics>;

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
 * Creates a function that counts one call of each operation: method and path template, or a schema coordinate.
 * The headers name the caller, unless it has sent no token although tokens are used. A caller of what is
 * deprecated keeps its name: one that calls it once a month still has to move before the sunset.
 */
function createCountCalls(registers: Registry[]) {
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
  return (
    operations: Iterable<string>,
    headers: IncomingHttpHeaders,
    isAnonymous: boolean | undefined,
    isDeprecated: boolean,
  ): void => {
    const caller = isAnonymous ? ANONYMOUS : labelOf(callerNameOf(headers), isDeprecated);
    const called = operationsOf.get(caller) ?? new Set();
    operationsOf.set(caller, called);
    for (const operation of operations) {
      called.add(operation);
      calls.inc({ operation, caller });
    }
  };
}

const SERVER_ERRORS = Object.entries(ERRORS).flatMap(([code, { status }]) =>
  status >= 500 ? code : [],
);

/** Creates a function that counts the error codes of a request to a route. */
function countErrors(registers: Registry[]): (route: string, codes?: Iterable<string>) => void {
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

/** Creates the metrics of one gateway and its database. */
export function createMetrics(databaseRegistry?: Registry, facts?: GatewayFacts) {
  const registry = new Registry();
  const registers = [registry];
  const active = new Gauge({
    name: 'http_active_requests',
    help: 'Number of requests that have begun and not yet ended.',
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
  if (facts) reportFacts(registers, facts);
  const addErrors = countErrors(registers);
  const { trustName, observeOperation } = createOperationMetrics(registers, DURATION_BUCKETS);
  return {
    countCalls: createCountCalls(registers),
    /** Counts a request that begins. The result is called at its end: it observes duration, errors and operation. */
    beginRequest: () => {
      active.inc();
      return ({ method = '', route, status, ms }: RequestEnd, requestLog: RequestLog): void => {
        active.dec();
        addErrors(route, requestLog.codes);
        // A stream takes as long as its caller wants.
        if (requestLog.isStream) return;
        const labels = { method: METHODS.has(method) ? method : 'other', route, status };
        requests.observe(labels, ms / 1000);
        observeOperation(requestLog, ms / 1000);
      };
    },
    trustName,
    streams: createStreamMetrics(registers),
    /** Observes the size of a batch of a loader. */
    observeBatch: (loader: string, size: number): void => batches.observe({ loader }, size),
    /** The registry of this gateway, that of the process, and that of the database. */
    registries: [registry, processMetrics(), ...(databaseRegistry ? [databaseRegistry] : [])],
  };
}

/** Counts a request that begins, and returns the function that counts and logs its end. */
export function watchRequest(
  { log, metrics }: { readonly log: Log; readonly metrics: Metrics },
  requestLog: RequestLog,
): (end: Omit<RequestEnd, 'ms'>) => void {
  const start = performance.now();
  const observeEnd = metrics.beginRequest();
  return (ended) => {
    const end = { ...ended, ms: performance.now() - start };
    observeEnd(end, requestLog);
    writeRequestLog(log, requestLog, end);
  };
}
