// A line of Prometheus's text format: the name, labels and value of a sample.
const SAMPLE = /^(\w+)(?:\{(.*)\})? (\S+)$/gm;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const DAY_MS = 86_400_000;

function parse(text) {
  return Array.from(text.matchAll(SAMPLE), ([, name, labels = '', value]) => ({
    name,
    labels: Object.fromEntries(
      Array.from(labels.matchAll(LABEL), ([, label, escaped]) => [
        label,
        escaped.replaceAll(/\\(.)/g, '$1'),
      ]),
    ),
    value: Number(value),
  }));
}

/** Returns the counts above zero, in descending order. */
const rank = (counts) =>
  counts.filter(({ total }) => total > 0).toSorted((one, other) => other.total - one.total);

/** Returns the page's content from the text of /metrics and from the facts that the gateway wrote into the page. */
export function toStatus(text, { routes, enforced, deprecated }) {
  const samples = parse(text);
  const samplesOf = (metric) => samples.filter(({ name }) => name === metric);
  const sum = (metric) => samplesOf(metric).reduce((total, { value }) => total + value, 0);
  const labelOf = (metric, label) => samplesOf(metric)[0]?.labels[label] ?? '';
  const sumBy = (metric, label, isCounted) => {
    const totals = new Map();
    for (const { labels, value } of samplesOf(metric).filter(isCounted)) {
      totals.set(labels[label], (totals.get(labels[label]) ?? 0) + value);
    }
    return Array.from(totals, ([key, total]) => ({ [label]: key, total }));
  };
  // The embedded database has no pool.
  const embedded = samplesOf('database_pool_max').length === 0;
  const isCounted = ({ labels }) => routes.includes(labels.route);
  // Buckets are cumulative; the last one is +Inf.
  const durations = sumBy('http_request_duration_seconds_bucket', 'le', isCounted);
  const writes = sum('database_writable') ? 'ready' : 'read-only';
  const toDeprecated = (operation) => {
    const sunset = samplesOf('operation_sunset_timestamp_seconds').find(
      ({ labels }) => labels.operation === operation,
    );
    const end = sunset && new Date(sunset.value * 1000);
    return {
      callers: rank(
        sumBy('operation_calls_total', 'caller', ({ labels }) => labels.operation === operation),
      ),
      enforced,
      ...(end && {
        sunset: end.toISOString().slice(0, 10),
        daysLeft: Math.ceil((end - Date.now()) / DAY_MS),
      }),
    };
  };
  return {
    version: labelOf('gateway_build_info', 'version'),
    node: labelOf('nodejs_version_info', 'version'),
    startedAt: sum('process_start_time_seconds') * 1000,
    at: Date.now(),
    database: { embedded, state: sum('database_up') ? writes : 'unreachable' },
    requests: { total: durations.at(-1)?.total ?? 0, durations },
    errors: rank(sumBy('request_errors_total', 'code', isCounted)),
    pool: embedded
      ? undefined
      : Object.fromEntries(
          ['max', 'total', 'idle', 'waiting'].map((state) => [
            state,
            sum(`database_pool_${state}`),
          ]),
        ),
    eventLoop: sumBy('nodejs_eventloop_time_seconds_total', 'state', () => true),
    memoryBytes: sum('process_resident_memory_bytes'),
    deprecated: deprecated.map(toDeprecated),
  };
}
