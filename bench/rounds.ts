import { runSql } from '../test/support/postgres.ts';
import { type Contender, start } from './contenders.ts';
import { canDo, check, type Course, measure, type Sample } from './measure.ts';
import type { Store } from './store.ts';
import type { Workload } from './workloads.ts';

/** A contender with a store: a row or a column of a table. */
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

/** The medians of each entry by workload. */
export type Results = ReadonlyMap<Entry, ReadonlyMap<Workload, Sample>>;

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}

function medians(samples: readonly Sample[]): Sample {
  const of = (figure: keyof Sample): number => medianOf(samples.map((sample) => sample[figure]));
  return {
    perSecond: of('perSecond'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
    aloneMs: of('aloneMs'),
    cpuMs: of('cpuMs'),
    databaseCpuMs: of('databaseCpuMs'),
    memoryMib: of('memoryMib'),
  };
}

/** Checks an entry with each workload, then measures it. */
async function takeTurn(entry: Entry, plan: Plan): Promise<Map<Workload, Sample>> {
  const { contender, store, databaseUrl } = entry;
  const running = await start(contender, plan.node, databaseUrl);
  const samples = new Map<Workload, Sample>();
  try {
    const courses = plan.workloads
      .filter((workload) => canDo(contender.dialect, workload))
      .map((workload): Course => ({
        name: entry.name,
        workload,
        databaseUrl,
        store,
        dialect: contender.dialect,
      }));
    for (const course of courses) await check(running, course);
    for (const course of courses) {
      samples.set(course.workload, await measure(running, course, plan.seconds));
    }
  } finally {
    await running.stop();
  }
  for (const statement of store.restoreStatements) await runSql(databaseUrl, statement);
  return samples;
}

/** Runs all entries in each round, in reverse order in every second round. */
export async function runRounds(entries: readonly Entry[], plan: Plan): Promise<Results> {
  const taken = new Map<Entry, Map<Workload, Sample>[]>(entries.map((entry) => [entry, []]));
  for (let round = 0; round < plan.rounds; round++) {
    for (const entry of round % 2 === 0 ? entries : entries.toReversed()) {
      process.stderr.write(`Round ${round + 1} of ${plan.rounds}: ${entry.name}\n`);
      taken.get(entry)?.push(await takeTurn(entry, plan));
    }
  }
  return new Map(
    [...taken].map(([entry, turns]) => {
      const done = [...(turns[0]?.keys() ?? [])];
      const samplesOf = (workload: Workload): Sample[] =>
        turns.flatMap((turn) => turn.get(workload) ?? []);
      return [entry, new Map(done.map((workload) => [workload, medians(samplesOf(workload))]))];
    }),
  );
}
