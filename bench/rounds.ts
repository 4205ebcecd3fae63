import { runSql } from '../test/support/postgres.ts';
import { type Contender, type Running, start } from './contenders.ts';
import { canDo, check, type Course, measure, type Sample } from './measure.ts';
import type { Store } from './store.ts';
import type { Workload } from './workloads.ts';

/** A contender with a store: a row or a column of a printed table. */
export interface Entry {
  readonly name: string;
  readonly contender: Contender;
  readonly store: Store;
  readonly databaseUrl: string;
}

export interface Plan {
  readonly rounds: number;
  readonly seconds: number;
  /** The Node.js program that runs the contenders. */
  readonly node: string;
  readonly workloads: readonly Workload[];
}

/** The samples of each entry by workload, one for each round. */
export type Results = ReadonlyMap<Entry, ReadonlyMap<Workload, readonly Sample[]>>;

export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}

/** Returns the median of each figure, and the number of all failed requests. */
export function medians(samples: readonly Sample[]): Sample {
  const of = (figure: keyof Sample): number => medianOf(samples.map((sample) => sample[figure]));
  return {
    perSecond: of('perSecond'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
    p999Ms: of('p999Ms'),
    aloneMs: of('aloneMs'),
    cpuMs: of('cpuMs'),
    databaseCpuMs: of('databaseCpuMs'),
    memoryMib: of('memoryMib'),
    failed: samples.reduce((sum, { failed }) => sum + failed, 0),
  };
}

/** A running contender, and its measurements by workload. */
interface Turn {
  readonly entry: Entry;
  readonly running: Running;
  readonly samples: Map<Workload, Sample[]>;
}

const courseOf = (
  { entry: { name, contender, store, databaseUrl } }: Turn,
  workload: Workload,
): Course => ({ name, workload, databaseUrl, store, dialect: contender.dialect });

/** Undoes the writes of a workload. */
async function restore(
  { entry: { store, databaseUrl } }: Turn,
  { writes }: Workload,
): Promise<void> {
  if (!writes) return;
  for (const statement of store.restoreStatements) await runSql(databaseUrl, statement);
}

/** Measures a workload with each contender that supports it. */
async function takeTurns(
  turns: readonly Turn[],
  workload: Workload,
  seconds: number,
): Promise<void> {
  for (const turn of turns) {
    if (!canDo(turn.entry.contender.dialect, workload)) continue;
    const course = courseOf(turn, workload);
    const taken = turn.samples.get(workload) ?? [];
    if (taken.length === 0) await check(turn.running, course);
    turn.samples.set(workload, [...taken, await measure(turn.running, course, seconds)]);
    await restore(turn, workload);
  }
}

/**
 * Starts the contenders of all entries, which keep running until the end. Each round measures each workload with one
 * entry at a time, and every second round reverses the order of the entries.
 */
export async function runRounds(
  entries: readonly Entry[],
  { rounds, seconds, node, workloads }: Plan,
): Promise<Results> {
  const turns: Turn[] = [];
  try {
    for (const entry of entries) {
      const running = await start(entry.contender, node, entry.databaseUrl);
      turns.push({ entry, running, samples: new Map() });
    }
    for (let round = 0; round < rounds; round++) {
      for (const workload of workloads) {
        process.stderr.write(`Round ${round + 1} of ${rounds}: ${workload.title}\n`);
        await takeTurns(round % 2 === 0 ? turns : turns.toReversed(), workload, seconds);
      }
    }
  } finally {
    for (const { running } of turns) await running.stop();
  }
  return new Map(turns.map(({ entry, samples }) => [entry, samples]));
}
