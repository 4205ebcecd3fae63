import { trace } from '@opentelemetry/api';

import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { RequestEnd, RequestLog } from './request-log.ts';

/** Rounds milliseconds to microseconds. */
const toMicroseconds = (ms: number): number => Math.round(ms * 1000) / 1000;

/** Logs a request that has ended. The line contains no values from the operation, the URL or the database. */
function writeRequestLog(log: Log, requestLog: RequestLog, end: RequestEnd): void {
  const { level, method, route, status, ms } = end;
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
