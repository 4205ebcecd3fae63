import { type Contender, FLOOR, GATEWAY, PEERS } from './contenders.ts';
import { type Sample, totalCpu } from './measure.ts';
import { medians, type Results } from './rounds.ts';
import type { Workload } from './workloads.ts';

const WIDTH = 860;
const LABEL_WIDTH = 250;
const BAR_HEIGHT = 13;
const GROUP_GAP = 14;
const TOP = 84;
const BOTTOM = 40;
// Longer bars are cut off, so that short bars stay readable. The figures are next to the bars.
const MAX_TIMES = 5;
const PX_PER_TIME = (WIDTH - LABEL_WIDTH - 70) / MAX_TIMES;
const COLORS = ['#1d6fd8', '#9aa5b1', '#c9cfd6', '#e0b060'];

interface Bar {
  readonly contender: number;
  readonly times: number;
}

interface Group {
  readonly title: string;
  readonly bars: readonly Bar[];
}

const cpuOf = (samples: readonly Sample[]): number => totalCpu(medians(samples));

const isDrawn = (contender: Contender): boolean =>
  contender === GATEWAY || PEERS.includes(contender);

/** Returns, for each workload, the CPU time of each contender in the chart as a multiple of the floor's. */
function groupsOf(results: Results, workloads: readonly Workload[]): Group[] {
  const floor = [...results].find(([{ contender }]) => contender === FLOOR)?.[1];
  const others = [...results].filter(([{ contender }]) => isDrawn(contender));
  return workloads.flatMap((workload) => {
    const base = floor?.get(workload);
    if (!base) return [];
    const bars = others.flatMap(([, samples], contender) => {
      const taken = samples.get(workload);
      return taken ? [{ contender, times: cpuOf(taken) / cpuOf(base) }] : [];
    });
    return [{ title: workload.title, bars }];
  });
}

const text = (x: number, y: number, content: string, attributes = ''): string =>
  `<text x="${x}" y="${y}" ${attributes}>${content}</text>`;

function drawBar({ contender, times }: Bar, y: number): string {
  const width = Math.min(times, MAX_TIMES) * PX_PER_TIME;
  const weight = contender === 0 ? ' font-weight="600"' : ' fill="#57606a"';
  return [
    `<rect x="${LABEL_WIDTH}" y="${y}" width="${width.toFixed(1)}" height="${BAR_HEIGHT - 2}" rx="2" fill="${COLORS[contender]}"/>`,
    text(
      LABEL_WIDTH + Math.ceil(width) + 6,
      y + 9.5,
      times.toFixed(2),
      `font-size="11" stroke="#ffffff" stroke-width="3" paint-order="stroke"${weight}`,
    ),
  ].join('');
}

function drawLegend(names: readonly string[]): string {
  return names
    .map((name, index) => {
      const x = LABEL_WIDTH + index * 120;
      return `<rect x="${x}" y="50" width="11" height="11" rx="2" fill="${COLORS[index]}"/>${text(x + 17, 60, name)}`;
    })
    .join('');
}

/** Draws a chart (SVG) of the CPU time that the server and PostgreSQL together use for one request. */
export function drawChart(results: Results, workloads: readonly Workload[], where: string): string {
  const names = [...results.keys()].filter(({ contender }) => isDrawn(contender));
  const parts: string[] = [];
  let y = TOP;
  for (const { title, bars } of groupsOf(results, workloads)) {
    const middle = y + (bars.length * BAR_HEIGHT) / 2 + 3;
    parts.push(text(LABEL_WIDTH - 12, middle, title, 'text-anchor="end"'));
    for (const bar of bars) {
      parts.push(drawBar(bar, y));
      y += BAR_HEIGHT;
    }
    y += GROUP_GAP;
  }
  const floorX = (LABEL_WIDTH + PX_PER_TIME).toFixed(1);
  const height = y + BOTTOM - GROUP_GAP;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12.5" fill="#1f2328" role="img">
<title>CPU time of one request, as a multiple of the floor</title>
<rect width="${WIDTH}" height="${height}" rx="8" fill="#ffffff"/>
${text(20, 28, 'CPU time of one request, server and PostgreSQL together; lower is better', 'font-size="16" font-weight="600"')}
${drawLegend(names.map(({ name }) => name))}
<line x1="${floorX}" x2="${floorX}" y1="${TOP - 8}" y2="${height - BOTTOM}" stroke="#1f2328" stroke-dasharray="3 3"/>
${parts.join('\n')}
${text(20, height - 14, `1 (dashed) is the floor: node:http with one prepared statement whose JSON PostgreSQL writes. ${where}`, 'font-size="11" fill="#57606a"')}
</svg>
`;
}
