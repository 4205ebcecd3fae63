import { drawPlot } from './status-plot.js';
import {
  element,
  toCount,
  toDuration,
  toMegabytes,
  toPercent,
  toRate,
  toSpan,
} from './status-words.js';

const MINUTE_MS = 60_000;

/** All plots; `of` reads the value of a line from a sample. */
export const PLOTS = [
  {
    title: 'Requests',
    lines: [{ name: 'first', label: '', of: (sample) => sample.requestsPerSecond }],
    format: toRate,
  },
  {
    title: 'Latency',
    lines: [
      { name: 'first', label: 'p50', of: (sample) => sample.p50Ms },
      { name: 'second', label: 'p99', of: (sample) => sample.p99Ms },
    ],
    format: toDuration,
  },
  {
    title: 'Errors',
    lines: [{ name: 'bad', label: '', of: (sample) => sample.errorsPerSecond }],
    format: toRate,
  },
  {
    title: 'Connections to PostgreSQL',
    lines: [
      {
        name: 'first',
        label: 'in use',
        of: ({ pool }) => pool && pool.total - pool.idle,
        most: ({ pool }) => `of ${toCount(pool.max)}`,
      },
      { name: 'second', label: 'waiting', of: ({ pool }) => pool && pool.waiting },
    ],
    format: toCount,
    isShown: ({ pool }) => pool !== undefined,
  },
  {
    title: 'Event loop',
    lines: [{ name: 'first', label: 'busy', of: (sample) => sample.eventLoopBusy }],
    format: toPercent,
    most: 1,
  },
  {
    title: 'Memory',
    lines: [{ name: 'first', label: '', of: (sample) => sample.memoryBytes }],
    format: toMegabytes,
  },
];

/** Says the current figure of each line, with a key to its colour if there are several. */
function sayCurrent({ lines, format }, sample) {
  const parts = lines.map(({ name, label, of, most }) => {
    const key = lines.length > 1 ? [element('span', { className: `key ${name}` })] : [];
    const value = element('strong', { textContent: format(of(sample)) });
    const words = [most?.(sample), label].filter(Boolean).join(' ');
    return element('span', {}, ...key, value, words && ` ${words}`);
  });
  return element('p', { className: 'current' }, ...parts);
}

/** Describes a plot in words: the highest, the lowest and the current figure of each line. */
function describe({ title, lines, format }, samples, sampleMs) {
  const sentences = lines.map(({ label, of }) => {
    const values = samples.map(of).filter((value) => value != null);
    if (values.length === 0) return `${label || title}: none.`;
    const [low, high] = [Math.min(...values), Math.max(...values)].map(format);
    return `${label || title}: now ${format(of(samples.at(-1)))}, lowest ${low}, highest ${high}.`;
  });
  return `${title} of the last ${toSpan(samples.length * sampleMs)}. ${sentences.join(' ')}`;
}

/** Creates the figure of a plot: its name, its current figures in words, and the plot. */
export function toFigure(plot, { samples, sampleSeconds }, spanMs) {
  const to = Date.parse(samples.at(-1).at);
  const series = plot.lines.map(({ name, of }, index) => ({
    name,
    isFilled: index === 0 && plot.lines.length === 1,
    points: samples.map((sample) => ({ time: Date.parse(sample.at), value: of(sample) })),
  }));
  const sampleMs = sampleSeconds * 1000;
  const { svg, top } = drawPlot({
    series,
    from: to - spanMs,
    to,
    sampleMs,
    most: plot.most,
    description: describe(plot, samples, sampleMs),
  });
  const scale = element('span', {
    className: 'top',
    textContent: plot.format(top),
    'aria-hidden': 'true',
  });
  return element(
    'figure',
    { className: 'plot' },
    element(
      'figcaption',
      {},
      element('h2', { textContent: plot.title }),
      sayCurrent(plot, samples.at(-1)),
    ),
    element('div', { className: 'canvas' }, scale, svg),
    element(
      'div',
      { className: 'axis', 'aria-hidden': 'true' },
      element('span', { textContent: `${spanMs / MINUTE_MS} minutes ago` }),
      element('span', { textContent: 'now' }),
    ),
  );
}
