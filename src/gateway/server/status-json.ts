import { VERSION } from '../config/version.ts';
import { toDay } from '../contract/day.ts';
import type { Database } from '../database/database.ts';
import { jsonResponse, type Route } from '../http/route.ts';
import type { Site } from '../pages/page.ts';
import type { Deprecated } from '../pages/status.ts';
import { pathOf } from '../rest/rest-operation.ts';
import type { RestOperation } from '../store.ts';
import type { ReadMetrics } from '../telemetry/cluster-metrics.ts';
import { type Count, type Figures, readFigures } from '../telemetry/figures.ts';

const DAY_MS = 86_400_000;

/** The routes of the store, and unknown paths; not the pages, /health, /ready and /metrics. */
export const countedRoutes = (operations: readonly RestOperation[]): ReadonlySet<string> =>
  new Set(['/graphql', 'other', ...operations.map(pathOf)]);

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

/** Leaves out those that are zero; the largest come first. */
const rank = (counts: readonly Count[]): Count[] =>
  counts.filter(({ total }) => total > 0).toSorted((one, other) => other.total - one.total);

/** Returns the requests and their errors, without those of the pages. */
function toRequests({ sumBy }: Figures, counted: ReadonlySet<string>): object {
  const sumCounted = (metric: string, label: string): Count[] =>
    sumBy(metric, label, ({ route }) => counted.has(String(route)));
  const durations = sumCounted('http_request_duration_seconds', 'le');
  return {
    // Each bound includes those below it; the last one is +Inf.
    requests: { total: durations.at(-1)?.total ?? 0, durations },
    errors: rank(sumCounted('request_errors_total', 'code')),
  };
}

const toPool = ({ sum }: Figures): object => ({
  max: sum('database_pool_max'),
  total: sum('database_pool_total'),
  idle: sum('database_pool_idle'),
  waiting: sum('database_pool_waiting'),
});

/** Returns the calls of each deprecated operation and schema element; only REST operations have a sunset. */
function toDeprecated(
  { sumBy }: Figures,
  { store, config: { sunset, enforceSunset } }: Site,
  deprecated: readonly Deprecated[],
): object[] {
  const isRest = (operation: string): boolean =>
    store.rest.operations.some(({ name }) => name === operation);
  return deprecated.map(({ operation, reason }) => ({
    operation,
    reason,
    ...(isRest(operation) && {
      sunset: toDay(sunset),
      daysLeft: Math.ceil((sunset.getTime() - Date.now()) / DAY_MS),
      enforced: enforceSunset,
    }),
    callers: rank(
      sumBy('operation_calls_total', 'caller', (labels) => labels['operation'] === operation),
    ),
  }));
}

/** Creates GET /status.json, for the page /status: the present values, and counts since the start. */
export const createStatusRoute = (
  site: Site,
  db: Database,
  deprecated: readonly Deprecated[],
  readMetrics: ReadMetrics,
): Route => ({
  path: '/status.json',
  get: async () => {
    const [figures, database] = await Promise.all([
      readMetrics().then(readFigures),
      toDatabase(db),
    ]);
    const { sum, sumBy } = figures;
    const { workers } = site.config;
    const response = jsonResponse({
      version: VERSION,
      node: process.version,
      startedAt: new Date(sum('process_start_time_seconds') * 1000).toISOString(),
      at: new Date().toISOString(),
      processes: { configured: workers, reporting: workers > 1 ? sum('worker_up') : 1 },
      database,
      ...toRequests(figures, countedRoutes(site.store.rest.operations)),
      ...(db.poolUse && { pool: toPool(figures) }),
      eventLoop: sumBy('nodejs_eventloop_time_seconds_total', 'state'),
      memoryBytes: sum('process_resident_memory_bytes'),
      deprecated: toDeprecated(figures, site, deprecated),
    });
    return { ...response, headers: { 'Cache-Control': 'no-store' } };
  },
});
