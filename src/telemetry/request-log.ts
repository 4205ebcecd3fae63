import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import { trace } from '@opentelemetry/api';

import type { ErrorCode, StoreError } from '../contract/errors.ts';
import type { Log } from './log.ts';

/** What is known of a request, for its line in the log; each part is set by who learns it. */
export interface RequestLog {
  /** Names the request to its caller and in the log. */
  readonly id: string;
  /** The name of its operation of GraphQL, at most 100 characters. */
  operationName?: string;
  operationType?: 'query' | 'mutation' | 'subscription';
  /** What the operation costs. */
  cost?: number;
  /** The codes of the errors that its caller was told, in GraphQL those in the data too. */
  codes?: Set<ErrorCode>;
}

/** How a request ended. */
interface RequestEnd {
  readonly method: string | undefined;
  /** The template of its path: the path itself, as the query, may hold values. */
  readonly route: string;
  readonly status: number | 'aborted';
  /** From its head to the end of its answer, in milliseconds. */
  readonly ms: number;
  readonly level: 'info' | 'debug';
}

const REQUEST_ID = /^[\w.:-]{1,128}$/;
// https://www.w3.org/TR/trace-context/#traceparent-header: neither id may be zeros alone.
const TRACEPARENT = /^00-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** The id of a request: its X-Request-Id, the trace that it belongs to, or a new one. */
export function requestIdOf({ 'x-request-id': given, traceparent }: IncomingHttpHeaders): string {
  if (typeof given === 'string' && REQUEST_ID.test(given)) return given;
  const asked = typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined;
  return asked ?? trace.getActiveSpan()?.spanContext().traceId ?? randomUUID();
}

/** Takes note of the code of an error that a caller is told. */
export function addErrorCode(requestLog: RequestLog, code: ErrorCode): void {
  (requestLog.codes ??= new Set()).add(code);
}

/** Where an error is in an answer of GraphQL, and how many fields failed with it. */
interface FailedFields {
  readonly path: readonly (string | number)[] | undefined;
  readonly fields: number;
}

/** Logs the cause of an error that is not the caller's fault. */
export function logCause(
  log: Log,
  { id }: RequestLog,
  error: StoreError,
  failed?: FailedFields,
): void {
  if (error.status < 500) return;
  log.error({ err: error.cause ?? error, requestId: id, ...failed }, error.message);
}

/** Writes the line of a request that has ended. Nothing in it is a value of the caller's or the store's. */
export function writeRequestLog(log: Log, requestLog: RequestLog, ending: RequestEnd): void {
  const { level, method, route, status, ms } = ending;
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
