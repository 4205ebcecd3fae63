import type { Config } from '../config/config.ts';
import { VERSION } from '../config/version.ts';
import type { Context } from '../context.ts';
import { DEPRECATED, REST_LIFECYCLES, toDay } from '../contract/lifecycle.ts';
import type { Database } from '../database/database.ts';
import { jsonResponse, type Route } from '../http/route.ts';
import { pathOf } from '../rest/operation.ts';
import { OPERATIONS } from '../rest/operations.ts';
import { type RunningHistory, startHistory } from '../telemetry/cluster-history.ts';
import type { History } from '../telemetry/history.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Clock } from '../telemetry/sample.ts';
import { withScope } from './routes.ts';

const DAY_MS = 86_400_000;

/** The routes of the store, and unknown paths; not the pages, /health, /ready and /metrics. */
export const COUNTED_ROUTES: ReadonlySet<string> = new Set([
  '/graphql',
  'other',
  ...OPERATIONS.map(pathOf),
]);

/** Starts to keep the history of the last minutes. */
export const startStatusHistory = (
  metrics: Metrics,
  { poolUse }: Database,
  clock: Clock,
  log: Log,
): RunningHistory =>
  startHistory(
    metrics,
    { routes: COUNTED_ROUTES, deprecated: new Set(DEPRECATED.keys()), poolUse, clock },
    log,
  );

/** Describes the database without its place, and whether it responds. */
async function toDatabase({ ping, poolUse }: Database): Promise<object> {
  // The embedded database has no pool.
  const kind = poolUse ? 'server' : 'embedded';
  try {
    const { writes, version } = await ping();
    return { kind, version, state: writes ? 'ready' : 'read-only' };
  } catch {
    return { kind, version: null, state: 'unreachable' };
  }
}

/** Returns the calls of each deprecated operation and schema element; only REST operations have a sunset. */
function toDeprecated({ calls }: History, { sunset, enforceSunset }: Config): object[] {
  return [...DEPRECATED].map(([operation, { deprecatedSince, successor }]) => ({
    operation,
    deprecatedSince: deprecatedSince && toDay(deprecatedSince),
    successor: successor ?? null,
    ...(operation in REST_LIFECYCLES && {
      sunset: toDay(sunset),
      daysLeft: Math.ceil((sunset.getTime() - Date.now()) / DAY_MS),
      enforced: enforceSunset,
    }),
    callers: calls
      .filter((call) => call.operation === operation)
      .map(({ caller, recent, total }) => ({ caller, recent, total })),
  }));
}

/** Creates GET /status.json, for the page /status. */
export const createStatusRoute = (
  context: Context,
  config: Config,
  { read }: Pick<RunningHistory, 'read'>,
): Route =>
  withScope(context, 'metrics', {
    path: '/status.json',
    isAuxiliary: true,
    get: async () => {
      const [history, database] = await Promise.all([read(), toDatabase(context.store.db)]);
      const { startedAt, processes, calls: _calls, ...lastMinutes } = history;
      const response = jsonResponse({
        version: VERSION,
        node: process.version,
        startedAt,
        at: new Date().toISOString(),
        processes: { configured: config.workers, reporting: processes },
        database,
        ...lastMinutes,
        deprecated: toDeprecated(history, config),
      });
      return { ...response, headers: { 'Cache-Control': 'no-store' } };
    },
  });
