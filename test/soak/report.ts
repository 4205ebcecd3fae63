import type { Journal } from './journal.ts';
import type { Ledger } from './ledger.ts';
import type { Watch } from './watch.ts';

export interface Soaked {
  readonly journal: Journal;
  readonly ledger: Ledger;
  readonly watch: Watch;
  readonly seed: number;
  readonly database: string;
}

/** Returns the median, the 90th percentile and the maximum of times, rounded. */
function describeTimes(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
  return `${at(0.5)}, ${at(0.9)}, ${at(1)}`;
}

/** Returns the results of a soak as a table. */
export function report({ journal, ledger, watch, seed, database }: Soaked): string {
  const { calm, besideNeighbours } = journal.latencies;
  const rows: (readonly [string, string | number])[] = [
    ['database', database],
    ['seed', seed],
    ['seconds', Math.round((Date.now() - journal.begin) / 1000)],
    ['requests with a response', journal.answered],
    ['requests without a response, during faults', journal.retried],
    ['orders acknowledged', ledger.orders.size],
    ['comparisons of the store with what was acknowledged', ledger.checks],
    ['peak memory of a process, MB', watch.maxRssMb],
    ['most files open in a process at a check', watch.maxHandles],
    ['wait without a fault (median, p90, longest), ms', describeTimes(calm)],
    ['wait beside bad neighbours (median, p90, longest), ms', describeTimes(besideNeighbours)],
    ['longest time from the end of faults to ready, ms', Math.round(journal.maxRecoveryMs)],
    ...[...journal.injected].map(([name, times]) => [`fault: ${name}`, times] as const),
    ['violations', journal.violations.length],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return `\n${rows.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('')}`;
}
