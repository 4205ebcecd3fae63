const SVG = 'http://www.w3.org/2000/svg';
// Units of the view box, which is stretched to the size of the plot.
const WIDTH = 300;
const HEIGHT = 100;
// A line that touched the edge would be cut in half.
const MARGIN = 2;
const STEPS = [1, 1.5, 2, 3, 4, 5, 6, 8, 10];

function shape(name, attributes) {
  const created = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  return created;
}

/** Returns the next number with few digits that is not below a number. */
function roundUp(number) {
  if (number <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(number));
  const step = STEPS.find((each) => each * power >= number * 0.999_999) ?? 10;
  return step * power;
}

/** Splits points where there is no value, or no sample for a while. */
function toRuns(points, maxGap) {
  const runs = [];
  let last;
  for (const point of points) {
    if (point.value == null) {
      last = undefined;
      continue;
    }
    if (!last || point.time - last.time > maxGap) runs.push([]);
    runs.at(-1).push(point);
    last = point;
  }
  return runs;
}

/**
 * Draws a plot. Each series has a class and points, in the order of their times; a value may be null. The
 * plot has a description in words for those who do not see it.
 */
export function drawPlot({ series, from, to, sampleMs, most, description }) {
  const values = series.flatMap(({ points }) => points.map(({ value }) => value ?? 0));
  const top = most ?? roundUp(Math.max(...values, 0));
  const x = (time) => ((time - from) / (to - from)) * WIDTH;
  const y = (value) => HEIGHT - MARGIN - (value / top) * (HEIGHT - 2 * MARGIN);
  const svg = shape('svg', {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: 'none',
    role: 'img',
    'aria-label': description,
  });
  for (const share of [0, 0.5, 1]) {
    svg.append(shape('path', { class: 'grid', d: `M0 ${y(share * top)}H${WIDTH}` }));
  }
  for (const { name, points, isFilled } of series) {
    for (const run of toRuns(points, 2.5 * sampleMs)) {
      const line = run.map(({ time, value }) => `${x(time).toFixed(2)} ${y(value).toFixed(2)}`);
      // A line of no length is drawn as a dot.
      const path = `M${line.join('L')}${run.length === 1 ? 'h0' : ''}`;
      if (isFilled && run.length > 1) {
        const area = `${path}V${y(0)}H${x(run[0].time).toFixed(2)}Z`;
        svg.append(shape('path', { class: `area ${name}`, d: area }));
      }
      svg.append(shape('path', { class: `${run.length === 1 ? 'dot' : 'line'} ${name}`, d: path }));
    }
  }
  return { svg, top };
}
