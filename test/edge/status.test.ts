import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { VERSION } from '../../src/config/version.ts';
import { toDay } from '../../src/contract/lifecycle.ts';
import { DURATION_BUCKETS } from '../../src/telemetry/metrics.ts';
import { type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { makePet } from '../support/make.ts';
import { readMetrics, sumOf } from '../support/metrics.ts';
import { awaitStatus, readStatus, type Status } from '../support/status.ts';

const DAY_MS = 86_400_000;
const IN_TEN_DAYS = toDay(new Date(Date.now() + 10 * DAY_MS));
const REQUESTS = 13;

/** Its pets are those of `gateway`, whose requests are counted. */
let first: Gateway;
let gateway: Gateway;
let status: Status;

const get = async (path: string, caller: string): Promise<void> => {
  await gateway.rest(path, { headers: { 'user-agent': caller } });
};

beforeAll(async () => {
  first = await startGateway();
  const id = await makePet(first);
  gateway = await startGateway({ SUNSET_DATE: IN_TEN_DAYS }, openThatOf(first));
  for (let count = 0; count < 5; count += 1) await get(`/pets/${id}`, 'shop/1.0');
  for (let count = 0; count < 2; count += 1) await get('/pets/none', 'till/2.0');
  await get('/nowhere', 'shop/1.0');
  for (let count = 0; count < 3; count += 1) await gateway.data('{ pets { totalCount } }');
  await gateway.data('mutation { completeOrder(id: "99") { ... on Error { code } } }');
  await gateway.graphql(`{ pet(id: "none") { id } again: pet(id: "none") { id } }`);
  for (const path of ['/', '/health', '/ready', '/metrics', '/docs']) await get(path, 'shop/1.0');
  status = await awaitStatus(gateway, REQUESTS);
});
afterAll(async () => {
  await gateway.close();
  await first.close();
});

describe('GET /status.json', () => {
  it('says what runs, since when, and on which database', () => {
    expect(status).toMatchObject({
      version: VERSION,
      node: process.version,
      processes: { configured: 1, reporting: 1 },
      database: { kind: 'embedded', version: expect.stringMatching(/^\d+\.\d+/), state: 'ready' },
    });
    const uptimeMs = Date.parse(status.at) - Date.parse(status.startedAt);
    expect(Math.abs(uptimeMs / 1000 - process.uptime())).toBeLessThan(60);
  });

  it('counts each request once, without those of the pages, /health, /ready and /metrics', () => {
    expect(status.requests).toEqual({ recent: REQUESTS, total: REQUESTS });
  });

  it('has the rate and the latency of each sample', () => {
    expect(status.sampleSeconds).toBe(0.3);
    const busy = status.samples.filter(({ requestsPerSecond }) => requestsPerSecond > 0);
    expect(busy.length).toBeGreaterThan(0);
    for (const { p50Ms, p99Ms, eventLoopBusy, memoryBytes } of busy) {
      expect(p50Ms).toBeGreaterThan(0);
      expect(p99Ms).toBeGreaterThanOrEqual(p50Ms ?? Infinity);
      expect(p99Ms).toBeLessThan(30_000);
      expect(eventLoopBusy).toBeGreaterThan(0);
      expect(eventLoopBusy).toBeLessThanOrEqual(1);
      expect(memoryBytes).toBeGreaterThan(1e7);
    }
    expect(status.samples.every((sample) => !('pool' in sample))).toBe(true);
  });

  it('counts errors by their code, also those in the data of GraphQL', () => {
    expect(status.errors).toEqual([
      { code: 'INVALID_ID', recent: 3, total: 3 },
      { code: 'NOT_FOUND', recent: 1, total: 1 },
      { code: 'ORDER_NOT_FOUND', recent: 1, total: 1 },
    ]);
  });

  it('names who calls what is deprecated, and the days left until its sunset', () => {
    expect(status.deprecated).toEqual([
      {
        operation: 'GET /pets/{petId}',
        deprecatedSince: '2026-11-01',
        successor: 'Query.pet',
        sunset: IN_TEN_DAYS,
        // Midnight may have passed since the start of the test.
        daysLeft: (Date.parse(IN_TEN_DAYS) - Date.parse(toDay(new Date(status.at)))) / DAY_MS,
        enforced: false,
        callers: [
          { caller: 'shop', recent: 5, total: 5 },
          { caller: 'till', recent: 2, total: 2 },
        ],
      },
      {
        operation: 'StaleInventory.quantity',
        deprecatedSince: '2026-11-21',
        successor: 'StaleInventory.available',
        callers: [],
      },
    ]);
  });

  it('counts nothing again in the next sample, and has neither rate nor latency without requests', async () => {
    const isNext = ({ samples }: Status): boolean => samples.length > status.samples.length;
    const next = await awaitStatus(gateway, isNext);
    expect([next.requests, next.errors, next.deprecated]).toEqual([
      status.requests,
      status.errors,
      status.deprecated,
    ]);
    expect(next.samples.at(-1)).toMatchObject({
      requestsPerSecond: 0,
      errorsPerSecond: 0,
      p50Ms: null,
      p99Ms: null,
    });
  });

  it('has the latency that the buckets of /metrics have', async () => {
    const { samples } = await readStatus(gateway);
    const last = Date.parse(samples.at(-1)?.at ?? '');
    const before = await readMetrics(gateway);
    for (let count = 0; count < 50; count += 1) await get(`/pets/${count}`, 'shop/1.0');
    const next = await awaitStatus(gateway, REQUESTS + 50);
    const after = await readMetrics(gateway);
    const countUpTo = (le: number | undefined): number => {
      const labels = { le: String(le), route: '/pets/{petId}' };
      const name = 'http_request_duration_seconds_bucket';
      return sumOf(after, name, labels) - sumOf(before, name, labels);
    };
    // The requests may be in several samples, each of which has a latency of its own.
    const used = DURATION_BUCKETS.flatMap((bound, index) => {
      const below = DURATION_BUCKETS[index - 1] ?? 0;
      return countUpTo(bound) > (below > 0 ? countUpTo(below) : 0) ? [{ below, bound }] : [];
    });
    const latencies = next.samples
      .filter(({ at }) => Date.parse(at) > last + 50)
      .flatMap(({ p50Ms, p99Ms }) => (p50Ms === null || p99Ms === null ? [] : [p50Ms, p99Ms]));
    expect(latencies.length).toBeGreaterThan(0);
    expect(Math.min(...latencies)).toBeGreaterThan(1000 * (used[0]?.below ?? Infinity));
    expect(Math.max(...latencies)).toBeLessThanOrEqual(1000 * (used.at(-1)?.bound ?? 0));
  });

  it('says that the database accepts no writes', async () => {
    await first.db.prisma.$executeRaw`set default_transaction_read_only = on`;
    const { database } = await readStatus(gateway);
    await first.db.prisma.$executeRaw`set default_transaction_read_only = off`;
    expect(database).toMatchObject({ state: 'read-only' });
    expect((await readStatus(gateway)).database).toMatchObject({ state: 'ready' });
  });

  it('is not stored by caches, and is for GET and HEAD alone', async () => {
    const response = await gateway.rest('/status.json', { method: 'HEAD' });
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
    const post = await gateway.rest('/status.json', { method: 'POST' });
    expect(await post.json()).toMatchObject({ code: 'METHOD_NOT_ALLOWED', status: 405 });
  });
});
