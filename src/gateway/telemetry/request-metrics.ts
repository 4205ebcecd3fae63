import type { IncomingHttpHeaders } from 'node:http';

import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

import { ERRORS } from '../contract/error-codes.ts';
import type { RequestEnd, RequestLog } from './request-log.ts';

// How many counts may wait. The request that adds the last one makes them all, so there must not be many. Nor may they
// wait so long that what they hold leaves the young generation of the heap.
const MAX_WAITING = 50;

let waiting: (() => void)[] = [];

/** Counts everything that waits to be counted. To be called before metrics are read. */
export function countAll(): void {
  const all = waiting;
  waiting = [];
  for (const count of all) count();
}

/**
 * Calls `count` when metrics are read, or before. prom-client 15 makes a text of the labels for each count: in the course of
 * a request, this takes four times as long as for many counts in a row.
 */
export function countLater(count: () => void): void {
  if (waiting.push(count) >= MAX_WAITING) countAll();
}

// The bounds of the buckets, in seconds.
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

// With AUTH=jwt, the name of all callers without a token.
const ANONYMOUS = 'anonymous';
const UNKNOWN = 'unknown';
const UNNAMED = 'unnamed';
const RESERVED = new Set([ANONYMOUS, UNKNOWN, UNNAMED]);

/**
 * Creates a function that maps a name to the value of a label, at most `max` names of callers. A new name then replaces the
 * least recently used one, whose series `giveUp` must remove. The first names with `isKept`, up to half of `max`, stay.
 */
function createCallerNames(max: number, giveUp: (name: string) => void) {
  const kept = new Set<string>();
  // The least recently used name comes first.
  const recent = new Set<string>();
  return (name: string, isKept = false): string => {
    if (RESERVED.has(name) || kept.has(name)) return name;
    if (!recent.delete(name) && kept.size + recent.size >= max) {
      const [oldest = name] = recent;
      recent.delete(oldest);
      giveUp(oldest);
    }
    (isKept && kept.size < max / 2 ? kept : recent).add(name);
    return name;
  };
}

// Matches the first product in a User-Agent (RFC 9110 §10.1.5): "okhttp" in "okhttp/4.12 (Android)".
const PRODUCT = /^[\w!#$%&'*+.^`|~-]+/;

/** Returns the name of a client from Apollo's header or its User-Agent, or `unknown`. */
function callerNameOf(headers: IncomingHttpHeaders): string {
  const header = headers['apollographql-client-name'];
  const clientName = typeof header === 'string' ? header.trim() : '';
  const name = clientName || PRODUCT.exec(headers['user-agent'] ?? '')?.[0] || UNKNOWN;
  return name.slice(0, MAX_NAME_LENGTH).replaceAll(/[^ -~]/g, '?');
}

/**
 * Creates a function that counts the calls to each operation, which is a method with a path template, or a schema
 * coordinate. Callers of a deprecated operation keep their names, so that even a client that calls it once a month is
 * reported until it has migrated.
 */
function createCountCalls(registers: Registry[]) {
  const calls = new Counter({
    name: 'operation_calls_total',
    help: 'Number of calls to each REST operation, GraphQL root field and deprecated schema element, by caller.',
    labelNames: ['operation', 'caller'],
    registers,
  });
  const costs = new Counter({
    name: 'operation_cost_total',
    help: 'Estimated cost of the executed GraphQL operations, by caller.',
    labelNames: ['caller'],
    registers,
  });
  const operationsOf = new Map<string, Set<string>>();
  const labelOf = createCallerNames(MAX_CALLERS, (caller) => {
    costs.remove({ caller });
    for (const operation of operationsOf.get(caller) ?? []) calls.remove({ operation, caller });
    operationsOf.delete(caller);
  });
  return (
    operations: Iterable<string>,
    headers: IncomingHttpHeaders,
    { isAnonymous, cost }: RequestLog,
    isDeprecated: boolean,
  ): void =>
    countLater(() => {
      const caller = isAnonymous ? ANONYMOUS : labelOf(callerNameOf(headers), isDeprecated);
      const called = operationsOf.get(caller) ?? new Set();
      operationsOf.set(caller, called);
      for (const operation of operations) {
        called.add(operation);
        calls.inc({ operation, caller });
      }
      if (cost !== undefined) costs.inc({ caller }, cost);
    });
}

const SERVER_ERRORS = Object.entries(ERRORS).flatMap(([code, { status }]) =>
  status >= 500 ? code : [],
);

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
      // Prometheus does not see an increase if the first value of a counter is 1.
      for (const code of SERVER_ERRORS) errors.inc({ route, code }, 0);
    }
    for (const code of codes) errors.inc({ route, code });
  };
}

function createOperationMetrics(registers: Registry[]) {
  const durations = new Histogram({
    name: 'graphql_operation_duration_seconds',
    help:
      'Time from the headers of a request, or its message on a WebSocket, to the end of its ' +
      'response, by GraphQL operation.',
    labelNames: ['operation_name', 'operation_type'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const costs = new Histogram({
    name: 'graphql_operation_cost',
    help:
      'Estimated cost of each GraphQL operation that was executed, or rejected for its cost or the ' +
      'size of its response before it was executed.',
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
    /** Always reports this name unchanged, however many other names there are. */
    trustName: (name: string): void => void trusted.add(name),
    /** Records the cost of an operation, if it was estimated, and its duration, unless it was rejected. */
    observeOperation: (requestLog: RequestLog, seconds: number): void => {
      const { cost, isRejected, operationType = '' } = requestLog;
      if (cost === undefined) return;
      if (isRejected) return costs.observe({ result: 'rejected' }, cost);
      costs.observe({ result: 'executed' }, cost);
      const labels = { operation_name: nameOf(requestLog), operation_type: operationType };
      durations.observe(labels, seconds);
    },
  };
}

/** Creates the metrics of requests, of the operations in them, and of the loaders' batches. */
export function createRequestMetrics(registers: Registry[]) {
  const active = new Gauge({
    name: 'http_active_requests',
    help: 'Number of requests in flight.',
    registers,
  });
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help:
      'Time from the headers of a request, or its message on a WebSocket, to the end of its ' +
      'response. The label status is "aborted" if the response was not completed.',
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
    observeBatch: (loader: string, size: number): void =>
      countLater(() => batches.observe({ loader }, size)),
    beginRequest: (): void => active.inc(),
    endRequest: (
      requestLog: RequestLog,
      { method = '', route, status }: RequestEnd,
      ms: number,
    ): void => {
      active.dec();
      countLater(() => {
        addErrors(route, requestLog.codes);
        // The client determines how long a stream lasts.
        if (requestLog.isStream) return;
        const labels = { method: METHODS.has(method) ? method : 'other', route, status };
        requests.observe(labels, ms / 1000);
        observeOperation(requestLog, ms / 1000);
      });
    },
  };
}
