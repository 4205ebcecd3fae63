import assert from 'node:assert/strict';

import autocannon from 'autocannon';
import pidusage, { type Status } from 'pidusage';

import { runSql } from '../test/support/postgres.ts';
import type { Running } from './contenders.ts';
import { type Dialect, DISTINCT } from './dialects.ts';
import type { Store } from './store.ts';
import type { Workload } from './workloads.ts';

/** The measurements of one contender with one workload. */
export interface Sample {
  readonly perSecond: number;
  /** Latencies with all connections, and with one connection (`aloneMs`). */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly aloneMs: number;
  /** CPU time per request, of the contender and of all PostgreSQL processes. */
  readonly cpuMs: number;
  readonly databaseCpuMs: number;
  /** The memory of the contender after the workload. */
  readonly memoryMib: number;
  /** The number of requests in a burst that failed. */
  readonly failed: number;
}

/** The CPU time of a contender and PostgreSQL together. */
export const totalCpu = ({ cpuMs, databaseCpuMs }: Sample): number => cpuMs + databaseCpuMs;

/** A contender, a workload and a store. */
export interface Course {
  readonly name: string;
  readonly dialect: Dialect;
  readonly workload: Workload;
  readonly store: Store;
  readonly databaseUrl: string;
}

const CONNECTIONS = 32;
const BURST_REQUESTS = 5;
const CHECKED = 5;

export const canDo = ({ rest, documents }: Dialect, { name }: Workload): boolean =>
  name in documents || (rest && name.startsWith('Rest'));

function toRequest({ dialect, workload, store }: Course, index: number) {
  const { path, variables, after, answer } = workload.ask(store, index);
  if (path) return { method: 'GET', path, answer } as const;
  const cursor = after === undefined ? {} : { after: dialect.cursor(after, workload.name) };
  const body = JSON.stringify({
    operationName: workload.name,
    query: dialect.documents[workload.name],
    variables: { ...variables, ...cursor },
  });
  const headers = { 'content-type': 'application/json', ...dialect.headers?.(index) };
  return { method: 'POST', path: '/graphql', headers, body, answer } as const;
}

const requestsOf = (course: Course, count: number) =>
  Array.from({ length: count }, (_, index) => toRequest(course, index));

/**
 * Sends a few requests and compares the responses with the expected ones.
 * @throws Error if a response is wrong
 */
export async function check({ url }: Running, course: Course): Promise<void> {
  for (const { path, answer, ...request } of requestsOf(course, CHECKED)) {
    const response = await fetch(url + path, request);
    const text = await response.text();
    const expected = request.method === 'GET' ? answer() : { data: answer() };
    try {
      assert.equal(response.status, 200, text);
      assert.deepEqual(JSON.parse(text, course.dialect.revive), expected);
    } catch (error) {
      throw new Error(`${course.name}: ${course.workload.title}: ${String(error)}`, {
        cause: error,
      });
    }
  }
}

const percentile = (sorted: readonly number[], part: number): number =>
  sorted[Math.floor(part * (sorted.length - 1))] ?? Number.NaN;

/**
 * Sends `amount` requests; returns the rate, the sorted latencies and the number of requests that failed.
 * @throws Error if a request fails that is not part of a burst
 */
async function load(
  url: string,
  course: Course,
  connections: number,
  amount: number,
): Promise<{ perSecond: number; timesMs: number[]; failed: number }> {
  const requests = requestsOf(course, DISTINCT);
  const timesMs: number[] = [];
  let clients = 0;
  let start = 0;
  let end = 0;
  const { non2xx, errors, mismatches } = await autocannon({
    url,
    connections,
    amount,
    sampleInt: 50,
    // Each connection has its own requests, so that no two connections send the same one at the same time.
    setupClient: (client) => {
      const own = clients++;
      client.setRequests(requests.filter((_, index) => index % connections === own));
      client.on('response', (_status, _bytes, timeMs) => {
        end = performance.now();
        // autocannon times the first request of a connection from this function's call, but opens all connections after
        // its last call.
        timesMs.push(Math.min(timeMs, end - start));
      });
      start = performance.now();
    },
    verifyBody: (body) => !String(body).includes('"errors":') && !String(body).includes('{}'),
  });
  const failed = non2xx + errors + mismatches;
  if (failed > 0 && !course.workload.burst)
    throw new Error(`${course.name}: ${course.workload.title}: ${failed} failed.`);
  const perSecond = (1000 * amount) / (end - start);
  return { perSecond, timesMs: timesMs.toSorted((a, b) => a - b), failed };
}

/** Returns the CPU time of each process since it started, in milliseconds. */
async function cpuOf(pids: readonly number[]): Promise<Map<number, number>> {
  // A process that has since exited has no status.
  const usage: Record<string, Status | undefined> = await pidusage([...pids]);
  return new Map(
    Object.entries(usage).flatMap(([pid, status]) => (status ? [[Number(pid), status.ctime]] : [])),
  );
}

/** Returns the ids of the postmaster and its child processes, except that of this session. */
export async function databaseProcesses(url: string): Promise<number[]> {
  const rows = await runSql(
    url,
    `select pid from pg_stat_activity where pid <> pg_backend_pid()
    union select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::integer`,
  );
  return rows.map(({ pid }) => Number(pid));
}

async function cpuSince(before: ReadonlyMap<number, number>, pids: number[]): Promise<number> {
  const after = await cpuOf(pids);
  return [...after].reduce((sum, [pid, ms]) => sum + ms - (before.get(pid) ?? 0), 0);
}

/**
 * Measures for about `seconds` with 32 connections, or a burst, after a warm-up and a short run with one connection.
 * @throws Error if a request fails that is not part of a burst
 */
export async function measure(running: Running, course: Course, seconds: number): Promise<Sample> {
  const { url, pid } = running;
  const { burst } = course.workload;
  const among = (connections: number, requests: number) =>
    load(url, course, connections, Math.max(CONNECTIONS, Math.ceil(requests)));
  const cold = await among(CONNECTIONS, 2 * CONNECTIONS);
  const warm = await among(CONNECTIONS, cold.perSecond * Math.max(1, seconds / 3));
  const alone = await among(1, (warm.perSecond * seconds) / 10);
  const own = await cpuOf([pid]);
  const database = await cpuOf(await databaseProcesses(course.databaseUrl));
  const { perSecond, timesMs, failed } = burst
    ? await among(burst, BURST_REQUESTS * burst)
    : await among(CONNECTIONS, warm.perSecond * seconds);
  const cpu = await cpuSince(own, [pid]);
  const databaseCpu = await cpuSince(database, await databaseProcesses(course.databaseUrl));
  const { memory } = await pidusage(pid);
  return {
    perSecond,
    p50Ms: percentile(timesMs, 0.5),
    p99Ms: percentile(timesMs, 0.99),
    p999Ms: percentile(timesMs, 0.999),
    aloneMs: percentile(alone.timesMs, 0.5),
    cpuMs: cpu / timesMs.length,
    databaseCpuMs: databaseCpu / timesMs.length,
    memoryMib: memory / 2 ** 20,
    failed,
  };
}
