const MAX_AGE_MS = 900_000;

let first;
let last;
let samples = [];

/** Returns the counts, each with its growth since `before`. Counts are matched by `label`. A count that falls has no growth. */
export const withGrowth = (label, before, now) =>
  now.map((count) => {
    const same = before.find((other) => other[label] === count[label]);
    return { ...count, growth: Math.max(count.total - (same?.total ?? 0), 0) };
  });

/**
 * Estimates the time, in milliseconds, within which a share of the requests completed. Like Prometheus's
 * histogram_quantile, this assumes that durations are spread evenly within a bucket.
 */
function quantile(share, durations) {
  const rank = share * (durations.at(-1)?.growth ?? 0);
  if (rank === 0) return null;
  const index = durations.findIndex(({ growth }) => growth >= rank);
  const { le: upper, growth } = durations[index];
  const { le: lower, growth: below } = durations[index - 1] ?? { le: 0, growth: 0 };
  if (upper === '+Inf') return lower * 1000;
  return 1000 * (Number(lower) + ((upper - lower) * (rank - below)) / (growth - below));
}

/** Returns what happened between two readings of /metrics, and the state at the second reading. */
function toSample(before, now) {
  const { at: from } = before;
  const { at: to } = now;
  const perSecond = (count) => (1000 * count) / (to - from);
  const durations = withGrowth('le', before.requests.durations, now.requests.durations);
  const errors = withGrowth('code', before.errors, now.errors);
  const [active, idle] = withGrowth('state', before.eventLoop, now.eventLoop);
  return {
    from,
    to,
    rate: perSecond(durations.at(-1)?.growth ?? 0),
    errorRate: perSecond(errors.reduce((sum, { growth }) => sum + growth, 0)),
    p50Ms: quantile(0.5, durations),
    p99Ms: quantile(0.99, durations),
    busy: active.growth / (active.growth + idle.growth || 1),
    pool: now.pool,
    memoryBytes: now.memoryBytes,
  };
}

/** Adds a reading. Returns the first reading since the gateway started, and the samples of the last 15 minutes. */
export function addStatus(status) {
  if (first?.startedAt === status.startedAt) samples.push(toSample(last, status));
  else [first, samples] = [status, []];
  last = status;
  samples = samples.filter(({ to }) => to > status.at - MAX_AGE_MS);
  return { first, samples };
}
