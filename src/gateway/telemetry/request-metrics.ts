import type { IncomingHttpHeaders } from 'node:http';

import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

import { ERRORS } from '../contract/error-codes.ts';
import type { RequestEnd, RequestLog } from './request-log.ts';

// In seconds.
const DURATION_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];
const BATCH_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
const COST_BUCKETS = [1, 10, 100, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 1_000_000];

const METHODS = new Set(['GET', 'HEAD', 'POST', 'OPTIONS']);
const TYPES = ['query', 'mutation', 'subscription'];

const MAX_CALLERS = 100;
const MAX_NAMES = 50;
const MAX_NAME_LENGTH = 64;

// All callers without a token, where tokens are used.
const ANONYMOUS = 'anonymous';
const OTHER = 'other';
const UNKNOWN = 'unknown';
const UNNAMED = 'unnamed';
const RESERVED = new Set([ANONYMOUS, OTHER, UNKNOWN, UNNAMED]);

/**
 * Creates a function that returns a name as the value of a label. It keeps at most `max` names that callers
 * choose, which bounds the memory and the size of /metrics: then a new name takes the place of the one that was
 * used longest ago, whose series `giveUp` must remove: they are never counted as those of another name. A name
 * with `isKept` is never given up; if all are kept, new ones are `other`.
 */
function createCallerNames(max: number, giveUp: (name: string) => void) {
  const kept = new Set<string>();
  // The one that was used longest ago is the first.
  const recent = new Set<string>();
  return (name: string, isKept = false): string => {
    if (RESERVED.has(name) || kept.has(name)) return name;
    if (!recent.delete(name) && kept.size + recent.size >= max) {
      const [oldest] = recent;
      if (oldest === undefined) return OTHER;
      recent.delete(oldest);
      giveUp(oldest);
    }
    (isKept ? kept : recent).add(name);
    return name;
  };
}

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
    help:
      'Number of requests whose response contains an error, including errors in GraphQL data, ' +
      'by error code.',
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

/** Creates the metrics of GraphQL operations. */
function createOperationMetrics(registers: Registry[]) {
  const durations = new Histogram({
    name: 'graphql_operation_duration_seconds',
    help: 'Time from the headers of a request to the end of its response, by GraphQL operation.',
    labelNames: ['operation_name', 'operation_type'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const costs = new Histogram({
    name: 'graphql_operation_cost',
    help:
      'Estimated cost of each GraphQL operation that was executed, or rejected because of its ' +
      'cost.',
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

/** Creates the metrics of requests, of the operations that they call, and of the batches that they share. */
export function createRequestMetrics(registers: Registry[]) {
  const active = new Gauge({
    name: 'http_active_requests',
    help: 'Number of requests in flight.',
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
  const addErrors = countErrors(registers);
  const { trustName, observeOperation } = createOperationMetrics(registers);
  return {
    countCalls: createCountCalls(registers),
    trustName,
    /** Observes the size of a batch of a loader. */
    observeBatch: (loader: string, size: number): void => batches.observe({ loader }, size),
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
  };
}
