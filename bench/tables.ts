import { type Contender, FLOOR, GATEWAY } from './contenders.ts';
import { type CostSearch, perUnit } from './cost-search.ts';
import { type Sample, totalCpu } from './measure.ts';
import { medianOf, medians, type Results } from './rounds.ts';
import type { Workload } from './workloads.ts';

/** Writes a table in Markdown. All columns except the first contain numbers. */
function toTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heads.map((head, column) =>
    Math.max(...[head, ...rows.map((row) => row[column] ?? '')].map(({ length }) => length)),
  );
  const toLine = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => (column ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0))).join(' | ')} |`;
  const rule = widths.map((width, column) =>
    column ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width),
  );
  return `${[heads, rule, ...rows].map(toLine).join('\n')}\n`;
}

const times = (value: number, base: number | undefined): string =>
  base ? `${(value / base).toFixed(2)}×` : '–';

const HEADS = [
  'p50 ms',
  'p99 ms',
  'p99.9 ms',
  'alone ms',
  'CPU ms',
  'PostgreSQL ms',
  'requests/s',
  'to floor',
  'CPU vs. floor',
  'both vs. floor',
  'failed',
];

function toCells(sample: Sample, floor: Sample | undefined): string[] {
  const { p50Ms, p99Ms, p999Ms, aloneMs, cpuMs, databaseCpuMs, perSecond } = sample;
  return [
    p50Ms.toFixed(1),
    p99Ms.toFixed(1),
    p999Ms.toFixed(1),
    aloneMs.toFixed(2),
    cpuMs.toFixed(2),
    databaseCpuMs.toFixed(2),
    perSecond.toFixed(0),
    times(perSecond, floor?.perSecond),
    times(cpuMs, floor?.cpuMs),
    times(totalCpu(sample), floor && totalCpu(floor)),
    sample.failed.toFixed(0),
  ];
}

/** A table of the most memory that each contender used after any of the workloads. */
export function memoryTable(results: Results): string {
  const rows = [...results].map(([{ name }, samples]) => {
    const memory = [...samples.values()].flat().map(({ memoryMib }) => memoryMib);
    return [name, Math.max(...memory).toFixed(0)];
  });
  return `\n### highest memory after a workload\n\n${toTable(['contender', 'RSS, MiB'], rows)}`;
}

/** A table for each workload, with a row for each contender. */
export function compareTables(results: Results, workloads: readonly Workload[]): string {
  const floor = [...results].find(([{ contender }]) => contender === FLOOR)?.[1];
  return workloads
    .map((workload) => {
      const base = floor?.get(workload);
      const rows = [...results].flatMap(([{ name }, samples]) => {
        const taken = samples.get(workload);
        return taken ? [[name, ...toCells(medians(taken), base && medians(base))]] : [];
      });
      return `\n### ${workload.title}\n\n${toTable(['contender', ...HEADS], rows)}`;
    })
    .join('');
}

/** The gateway's figures as multiples of an earlier version's: each is the median of the rounds' ratios. */
export function besideTable(
  results: Results,
  workloads: readonly Workload[],
  version: Contender,
): string {
  const samplesOf = (one: Contender) =>
    [...results].find(([{ contender }]) => contender === one)?.[1];
  const [gateway, before] = [samplesOf(GATEWAY), samplesOf(version)];
  if (!gateway || !before) return '';
  const figures = [({ cpuMs }: Sample) => cpuMs, totalCpu, ({ perSecond }: Sample) => perSecond];
  const rows = workloads.map((workload) => {
    const others = before.get(workload) ?? [];
    const cells = figures.map((of) => {
      const ratios = (gateway.get(workload) ?? []).flatMap((sample, round) => {
        const other = others[round];
        return other ? [of(sample) / of(other)] : [];
      });
      return medianOf(ratios).toFixed(2);
    });
    return [workload.title, ...cells];
  });
  const heads = [`gateway vs. ${version.name}`, 'CPU', 'both', 'requests/s'];
  return `\n### beside ${version.name}\n\n${toTable(heads, rows)}`;
}

const GROWING = [
  ['latency with one caller, ms', 'aloneMs'],
  ['CPU of the gateway, ms a request', 'cpuMs'],
  ['CPU of PostgreSQL, ms a request', 'databaseCpuMs'],
] as const;

/** One table for each figure: its value with the smallest store, and the factors for the larger stores. */
export function growthTables(results: Results, workloads: readonly Workload[]): string {
  const [first, ...others] = results;
  return GROWING.map(([title, figure]) => {
    const heads = ['workload', ...[...results.keys()].map(({ name }) => name)];
    const rows = workloads.map((workload) => {
      const valueOf = (samples: ReadonlyMap<Workload, readonly Sample[]> | undefined): number =>
        medians(samples?.get(workload) ?? [])[figure];
      const base = valueOf(first?.[1]);
      const grown = others.map(([, samples]) => times(valueOf(samples), base));
      return [workload.title, base.toFixed(2), ...grown];
    });
    return `\n### ${title}\n\n${toTable(heads, rows)}`;
  }).join('');
}

/** The list of the queries that take the most time per declared unit. */
export function costSearchList({ median, worst }: CostSearch): string {
  const lines = worst.map((query) => {
    const { declared, microseconds, text } = query;
    return `${times(perUnit(query), median)}: ${microseconds.toFixed(0)} µs, declared ${declared}: ${text}\n`;
  });
  return `\n### Queries with the most CPU time per declared cost; the median is ${median.toFixed(2)} µs\n\n${lines.join('')}`;
}
