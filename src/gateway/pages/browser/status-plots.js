// Of the view box, which is stretched to the size of the plot. A line that touched the edge would be cut in half.
const WIDTH = 300;
const TOP = 2;
const BOTTOM = 98;
const MINUTE_MS = 60_000;
const MAX_MINUTES = 15;

const digits = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const whole = new Intl.NumberFormat('en');

export const toCount = (number) => whole.format(number);
const toRate = (number) => `${digits.format(number)} a second`;
const toPercent = (share) => `${digits.format(100 * share)} %`;
const toMegabytes = (bytes) => `${digits.format(bytes / 1_000_000)} MB`;

function toDuration(ms) {
  if (ms === null) return '–';
  return ms < 1000 ? `${digits.format(ms)} ms` : `${digits.format(ms / 1000)} s`;
}

/** All plots by their id, each with the values of its lines in a sample. */
const PLOTS = {
  rate: { valuesOf: ({ rate }) => [rate], format: toRate },
  latency: { valuesOf: ({ p50Ms, p99Ms }) => [p50Ms, p99Ms], format: toDuration },
  'error-rate': { valuesOf: ({ errorRate }) => [errorRate], format: toRate },
  pool: {
    valuesOf: ({ pool: { total, idle, waiting } }) => [total - idle, waiting],
    format: toCount,
  },
  'event-loop': { valuesOf: ({ busy }) => [busy], format: toPercent, most: 1 },
  memory: { valuesOf: ({ memoryBytes }) => [memoryBytes], format: toMegabytes },
};

/** Returns the next number with one digit that is not below a number. */
function roundUp(number) {
  if (number === 0) return 1;
  const power = 10 ** Math.floor(Math.log10(number));
  return Math.ceil(number / power) * power;
}

/** Describes the values of a line for those who do not see it. */
function describe(values, format, current) {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return `${current}: none.`;
  const [low, high] = [Math.min(...known), Math.max(...known)].map(format);
  return `now ${current}, lowest ${low}, highest ${high}.`;
}

function draw(figure, { valuesOf, format, most }, samples) {
  const [{ from: start }] = samples;
  const { to: end } = samples.at(-1);
  const minutes = Math.min(Math.ceil((end - start) / MINUTE_MS), MAX_MINUTES);
  const all = samples.map(valuesOf);
  const top = most ?? roundUp(Math.max(...all.flat()));
  const x = (time) => WIDTH * (1 - (end - time) / (minutes * MINUTE_MS));
  const y = (value) => BOTTOM - (value / top) * (BOTTOM - TOP);
  // Each value is drawn over the time of its sample, and nothing where it is null.
  const toLine = (values) => {
    const steps = samples.map(({ from, to }, index) => {
      if (values[index] === null) return '';
      const begin = values[index - 1] == null ? `M${x(from)} ` : 'V';
      return `${begin}${y(values[index])}H${x(to)}`;
    });
    return steps.join('');
  };

  const select = (selector) => figure.querySelector(selector);
  const currents = figure.querySelectorAll('strong');
  const sentences = [...figure.querySelectorAll('.line')].map((line, index) => {
    const values = all.map((each) => each[index]);
    line.setAttribute('d', toLine(values));
    currents[index].textContent = format(values.at(-1));
    return describe(values, format, currents[index].parentElement.textContent.trim());
  });
  const firsts = all.map(([value]) => value ?? 0);
  select('.area').setAttribute('d', `${toLine(firsts)}V${BOTTOM}H${x(start)}Z`);
  const span = `${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
  const title = `${select('h2').textContent} of the last ${span}`;
  select('svg').setAttribute('aria-label', `${title}: ${sentences.join(' ')}`);
  select('.top').textContent = format(top);
  select('.start').textContent = `${span} ago`;
}

/** Draws all plots of the page; without samples they stay empty. */
export function drawPlots(samples) {
  if (samples.length === 0) return;
  for (const [id, plot] of Object.entries(PLOTS)) {
    const figure = document.querySelector(`#${id}`);
    if (figure) draw(figure, plot, samples);
  }
}
