import { readdirSync, readFileSync } from 'node:fs';

import type { GraphQLSchema } from 'graphql';

import type { Running } from './contenders.ts';
import { databaseProcesses } from './measure.ts';
import { mutate, type Query, randomQuery, writeQuery } from './random-query.ts';

/** A query with its declared cost and its measured cost. */
export interface MeasuredQuery {
  readonly text: string;
  readonly declared: number;
  /** CPU time of the gateway and PostgreSQL beyond that of `{ __typename }`, in microseconds. */
  readonly microseconds: number;
}

/** The result of a search. */
export interface CostSearch {
  /** The median of `microseconds` per declared unit for random queries. */
  readonly median: number;
  /** The queries with the longest time per declared unit, measured again. */
  readonly worst: readonly MeasuredQuery[];
}

// Queries that declare less are skipped: most of their time is the fixed cost of a request.
const MIN_DECLARED = 200;
const SAMPLE = 250;
const KEPT = 25;
const ROUND_MS = 40;
const MAX_REPEATS = 60;
const MIN_REPEATS = 6;
// On each connection, PostgreSQL makes a new plan for each of a statement's first five executions, and the gateway has
// several connections.
const WARM_UP = 60;
const FIRST_WARM_UP = 3000;

interface Answer {
  readonly data?: unknown;
  readonly errors?: unknown;
  readonly extensions?: { readonly cost: { readonly requested: number } };
}

/** Returns the CPU time of all threads of a process, in microseconds; 0 if the process has ended. */
function cpuOf(pid: number): number {
  try {
    const nanoseconds = readdirSync(`/proc/${pid}/task`).map((thread) => {
      const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8');
      return Number(text.split(' ')[0]);
    });
    return nanoseconds.reduce((sum, one) => sum + one, 0) / 1000;
  } catch {
    return 0;
  }
}

/** Measures a query twice and returns the lower time, or undefined if the query fails or declares too little. */
type Measure = (text: string) => Promise<MeasuredQuery | undefined>;

/** Creates the function that measures queries on a warm gateway, one at a time. */
async function createMeasure({ url, pid }: Running, databaseUrl: string): Promise<Measure> {
  const ask = async (text: string): Promise<Answer> => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'graphql-cost': 'report' },
      body: JSON.stringify({ query: text }),
    });
    const answer: Answer = JSON.parse(await response.text());
    return answer;
  };
  const processes = async () => [pid, ...(await databaseProcesses(databaseUrl))];
  const time = async (text: string): Promise<number> => {
    const before = new Map((await processes()).map((one) => [one, cpuOf(one)]));
    const end = performance.now() + ROUND_MS;
    let repeats = 0;
    while (repeats < MIN_REPEATS || (repeats < MAX_REPEATS && performance.now() < end)) {
      await ask(text);
      repeats += 1;
    }
    const used = (await processes()).map((one) => cpuOf(one) - (before.get(one) ?? 0));
    return used.reduce((sum, one) => sum + one, 0) / repeats;
  };
  for (let count = 0; count < FIRST_WARM_UP; count += 1) await ask('{ __typename }');
  const base = await time('{ __typename }');
  return async (text) => {
    const { data, errors, extensions } = await ask(text);
    const declared = extensions?.cost.requested ?? 0;
    if (!data || errors || declared < MIN_DECLARED) return undefined;
    for (let count = 0; count < WARM_UP; count += 1) await ask(text);
    return { text, declared, microseconds: Math.min(await time(text), await time(text)) - base };
  };
}

/** Returns a query's time per declared unit. */
export const perUnit = ({ microseconds, declared }: MeasuredQuery): number =>
  microseconds / declared;

/**
 * Searches for the queries that take the most time per declared unit: random queries first, then variations of the
 * worst queries so far.
 */
export async function searchCosts(
  schema: GraphQLSchema,
  gateway: Running,
  databaseUrl: string,
  minutes: number,
): Promise<CostSearch> {
  const measure = await createMeasure(gateway, databaseUrl);
  let found: { query: Query; measured: MeasuredQuery }[] = [];
  const consider = async (query: Query): Promise<void> => {
    const measured = await measure(writeQuery(query));
    if (!measured) return;
    found.push({ query, measured });
    found = found.toSorted((a, b) => perUnit(b.measured) - perUnit(a.measured));
  };
  while (found.length < SAMPLE) await consider(randomQuery(schema));
  const middle = found[SAMPLE / 2];
  const end = Date.now() + minutes * 60_000;
  while (Date.now() < end) {
    found.splice(KEPT);
    const chosen = found[Math.floor(Math.random() ** 1.5 * found.length)];
    if (chosen) await consider(mutate(schema, chosen.query));
  }
  const worst: MeasuredQuery[] = [];
  for (const { measured } of found.slice(0, KEPT)) {
    // Measured again, because the worst of many measurements may be outliers.
    const again = [await measure(measured.text), await measure(measured.text)];
    const least = again.flatMap((one) => one ?? []).toSorted((a, b) => perUnit(a) - perUnit(b));
    worst.push(...least.slice(0, 1));
  }
  return {
    median: middle ? perUnit(middle.measured) : Number.NaN,
    worst: worst.toSorted((a, b) => perUnit(b) - perUnit(a)),
  };
}
