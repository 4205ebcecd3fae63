import { trace } from '@opentelemetry/api';

import type { GatewayError } from '../contract/gateway-error.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

/** The contents of a request's log line; each part of the gateway adds to it. */
export interface RequestLog {
  /** Identifies the request in the response and in the log. */
  readonly id: string;
  /** The name of the GraphQL operation, at most 100 characters. */
  operationName?: string;
  operationType?: 'query' | 'mutation' | 'subscription';
  /** The estimated cost of the GraphQL operation. */
  cost?: number;
  /** Whether the GraphQL operation was rejected for its estimated cost or response size, before its execution. */
  isRejected?: boolean;
  /** Whether AUTH=jwt is set and the caller sent no token. */
  isAnonymous?: boolean;
  /** Whether the response is a stream of results. */
  isStream?: boolean;
  /** The codes of the errors in the response; for GraphQL, including errors in the data. */
  codes?: Set<string>;
}

export interface RequestEnd {
  readonly method: string | undefined;
  /** The path template of the route, because the path and the query may contain values. */
  readonly route: string;
  readonly status: number | 'aborted';
  /** The time in milliseconds from receiving the headers, or the message on a WebSocket, to the end of the response. */
  readonly ms: number;
  readonly level: 'info' | 'debug';
}

export function addErrorCode(requestLog: RequestLog, code: string): void {
  (requestLog.codes ??= new Set()).add(code);
}

/** Logs an error's cause, with the additional properties `known`, if the error is to be logged (`isLogged`). */
export function logCause(log: Log, { id }: RequestLog, error: GatewayError, known?: object): void {
  if (!error.isLogged) return;
  log.error({ err: error.cause ?? error, requestId: id, ...known }, error.message);
}

/** Logs a request that has ended. The line contains no values from the operation, the URL or the database. */
function writeRequestLog(log: Log, requestLog: RequestLog, end: RequestEnd): void {
  const { level, method, route, status, ms } = end;
  if (!log.isLevelEnabled(level)) return;
  const { id, operationName, operationType, cost, codes } = requestLog;
  const line = {
    requestId: id,
    traceId: trace.getActiveSpan()?.spanContext().traceId,
    method,
    route,
    operationName,
    operationType,
    cost,
    status,
    codes: codes && [...codes],
    ms: Math.round(ms * 1000) / 1000,
  };
  log[level](line, 'A request ended.');
}

/** Counts a request when it starts; returns the function that counts and logs its end. */
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
