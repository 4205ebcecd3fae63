const digits = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const whole = new Intl.NumberFormat('en');

export const toCount = (number) => whole.format(number);
const toRate = (number) => `${digits.format(number)} a second`;

const toDuration = (ms) =>
  ms < 1000 ? `${digits.format(ms)} ms` : `${digits.format(ms / 1000)} s`;

/** All figures by id. Each function returns the value to draw for a sample (null if there is none), and its text. */
const FIGURES = {
  rate: ({ rate }) => [rate, toRate(rate)],
  latency: ({ p50Ms, p99Ms }) =>
    p99Ms === null
      ? [null, 'no requests']
      : [p99Ms, `${toDuration(p99Ms)} p99, ${toDuration(p50Ms)} p50`],
  'error-rate': ({ errorRate }) => [errorRate, toRate(errorRate)],
  pool: ({ pool: { max, total, idle, waiting } }) => [
    total - idle,
    `${total - idle} of ${max} in use, ${waiting} waiting`,
  ],
  'event-loop': ({ busy }) => [busy, `${digits.format(100 * busy)}% busy`],
  memory: ({ memoryBytes }) => [memoryBytes, `${digits.format(memoryBytes / 1_000_000)} MB`],
};

/** Returns the SVG path of a line through the values, for a view box of 100 × 100. Nulls are skipped. */
function toLine(values) {
  const most = Math.max(...values) || 1;
  const points = values.flatMap((value, index) =>
    value === null
      ? []
      : [`${(100 * index) / (values.length - 1 || 1)} ${98 - (96 * value) / most}`],
  );
  return points.length > 0 ? `M${points.join('L')}` : '';
}

/** Shows all figures; without samples, they stay as they are. */
export function showFigures(samples) {
  if (samples.length === 0) return;
  for (const [id, read] of Object.entries(FIGURES)) {
    const figure = document.querySelector(`#${id}`);
    if (!figure) continue;
    const readings = samples.map(read);
    figure.querySelector('strong').textContent = readings.at(-1)[1];
    figure.querySelector('path').setAttribute('d', toLine(readings.map(([value]) => value)));
  }
}
