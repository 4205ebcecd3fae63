import { trace } from '@opentelemetry/api';
import { LRUCache } from 'lru-cache';

import { type GatewayError, Unauthenticated } from '../contract/gateway-error.ts';
import type { Log } from './log.ts';

/** The contents of a request's log line; each part of the gateway adds to it. */
export interface RequestLog {
  /** Identifies the request in the response and in the log. */
  readonly id: string;
  /** The name of the GraphQL operation, at most 100 characters. */
  operationName?: string;
  operationType?: 'query' | 'mutation' | 'subscription';
  cost?: number;
  /** Whether the GraphQL operation was rejected for its estimated cost or response size, before its execution. */
  isRejected?: boolean;
  /** Whether AUTH=jwt is set and the caller sent no token. */
  isAnonymous?: boolean;
  /** A digest of the token's `sub`, so that the log contains no personal data. */
  subject?: string | undefined;
  /** What the request has waited for, in milliseconds. Waits that overlap are added up. */
  waits?: Partial<Record<Wait, number>>;
  /** The number of statements that the request has sent. One that several requests share counts for the first. */
  statements?: number;
  /** The statements that have ended, if the caller has asked for them. One that failed, BEGIN and COMMIT have no `rows`. */
  explained?: { readonly sql: string; readonly ms: number; readonly rows: number | undefined }[];
  isStream?: boolean;
  /** Whether a mutation has succeeded, even if an error has made all of the data null. */
  hasWritten?: boolean;
  /** The codes of the errors in the response; for GraphQL, including errors in the data. */
  codes?: Set<string>;
  reason?: string | undefined;
}

/** A turn in a queue of the gateway, a connection from the pool, or the database's response to a statement. */
type Wait = 'queueMs' | 'poolMs' | 'sqlMs';

export interface RequestEnd {
  readonly method: string | undefined;
  /** The path template of the route, because the path and the query may contain values. */
  readonly route: string;
  readonly status: number | 'aborted';
  readonly level: 'info' | 'debug';
}

/** Adds the time since `start`, of performance.now(), to what a request has waited for, and returns it. */
export function addWait(requestLog: RequestLog | undefined, wait: Wait, start: number): number {
  const ms = performance.now() - start;
  if (requestLog) {
    const waits = (requestLog.waits ??= {});
    waits[wait] = (waits[wait] ?? 0) + ms;
  }
  return ms;
}

const toSource = ({ id, operationName }: RequestLog) => ({ requestId: id, operationName });

// A statement that takes longer is logged.
const SLOW_MS = 1000;

/** Sends a statement for a request, if any. Logs it, and adds the SQL to an error. */
export async function watchStatement<Result>(
  log: Log,
  requestLog: RequestLog | undefined,
  sql: string,
  send: () => Promise<Result>,
): Promise<Result> {
  const start = performance.now();
  if (requestLog) requestLog.statements = (requestLog.statements ?? 0) + 1;
  let rows: number | undefined;
  try {
    const result = await send();
    if (Array.isArray(result)) rows = result.length;
    return result;
  } catch (error) {
    throw error instanceof Error ? Object.assign(error, { sql }) : error;
  } finally {
    const ms = addWait(requestLog, 'sqlMs', start);
    requestLog?.explained?.push({ sql, ms: toMicroseconds(ms), rows });
    const isSlow = ms > SLOW_MS;
    if (isSlow || log.isLevelEnabled('debug')) {
      const line = { ...(requestLog && toSource(requestLog)), sql, ms };
      if (isSlow) log.warn(line, 'A statement was slow.');
      else log.debug(line, 'SQL');
    }
  }
}

export function addError(requestLog: RequestLog, error: Pick<GatewayError, 'code'>): void {
  (requestLog.codes ??= new Set()).add(error.code);
  if (error instanceof Unauthenticated) requestLog.reason = error.reason;
}

/** How long a cause is not logged again, in milliseconds. */
const REPEAT_MS = 1000;
const MAX_CAUSES = 100;

const causesOf = new WeakMap<
  Log,
  LRUCache<string, { readonly loggedAt: number; omitted: number }>
>();

/**
 * Logs an error's cause, with the additional properties `known`, if the error is to be logged (`isLogged`). In an outage,
 * every request fails for the same cause, which is logged once a second: the next line says how many were omitted.
 */
export function logCause(
  log: Log,
  requestLog: RequestLog,
  error: GatewayError,
  known?: object,
): void {
  if (!error.isLogged) return;
  const err = error.cause ?? error;
  const causes = causesOf.get(log) ?? new LRUCache({ max: MAX_CAUSES });
  causesOf.set(log, causes);
  // The stack begins with the message, and tells errors with the same message apart by their place.
  const key = `${error.code} ${err instanceof Error ? err.stack : ''}`;
  const last = causes.get(key);
  const now = performance.now();
  if (last && now - last.loggedAt < REPEAT_MS) {
    last.omitted += 1;
    return;
  }
  causes.set(key, { loggedAt: now, omitted: 0 });
  const omitted = last?.omitted || undefined;
  log.error({ err, ...toSource(requestLog), ...known, omitted }, error.message);
}

const toMicroseconds = (ms: number): number => Math.round(ms * 1000) / 1000;

/** Logs a request that has ended. The line contains no values from the operation, the URL or the database. */
function writeRequestLog(log: Log, requestLog: RequestLog, end: RequestEnd, ms: number): void {
  const { level, method, route, status } = end;
  if (!log.isLevelEnabled(level)) return;
  const { id, operationName, operationType, subject, cost, codes, reason, waits } = requestLog;
  const line = {
    requestId: id,
    traceId: trace.getActiveSpan()?.spanContext().traceId,
    method,
    route,
    operationName,
    operationType,
    subject,
    cost,
    status,
    codes: codes && [...codes],
    reason,
    ms: toMicroseconds(ms),
    queueMs: waits?.queueMs && toMicroseconds(waits.queueMs),
    poolMs: waits?.poolMs && toMicroseconds(waits.poolMs),
    sqlMs: waits?.sqlMs && toMicroseconds(waits.sqlMs),
  };
  log[level](line, 'A request ended.');
}

// A query that uses loaders costs at least 100 for each of its statements, so it sends a fifth of the statements that are
// allowed here.
const COST_PER_STATEMENT = 20;
// Room for repeated statements, for example after a failover.
const FURTHER_STATEMENTS = 10;

/** Warns if a query has sent so many statements that one of its resolvers probably sends one for each row. */
function warnOfStatements(log: Log, requestLog: RequestLog): void {
  const { operationType, cost = 0, statements = 0 } = requestLog;
  if (operationType !== 'query' || statements <= FURTHER_STATEMENTS + cost / COST_PER_STATEMENT)
    return;
  const message =
    'A query sent more statements than its cost covers. Does a resolver send one for each row? Use a loader.';
  log.warn({ ...toSource(requestLog), cost, statements }, message);
}

/** Counts requests, and measures how they end (request-metrics.ts). */
interface RequestMetrics {
  beginRequest(): void;
  endRequest(requestLog: RequestLog, end: RequestEnd, ms: number): void;
}

/** Counts a request when it starts; returns the function that counts and logs its end. */
export function watchRequest(
  { log, metrics }: { readonly log: Log; readonly metrics: RequestMetrics },
  requestLog: RequestLog,
): (end: RequestEnd) => void {
  const start = performance.now();
  metrics.beginRequest();
  return (end) => {
    // From receiving the headers, or the message on a WebSocket, to the end of the response.
    const ms = performance.now() - start;
    metrics.endRequest(requestLog, end, ms);
    writeRequestLog(log, requestLog, end, ms);
    warnOfStatements(log, requestLog);
  };
}
