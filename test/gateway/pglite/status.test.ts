import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { VERSION } from '../../../src/gateway/config/version.ts';
import { toDay } from '../../../src/gateway/kinds/times.ts';
import { countedRoutes } from '../../../src/gateway/pages/status.ts';
import { petStore } from '../../../src/store/index.ts';
import { openCopyOnPglite } from '../../support/databases.ts';
import { type Gateway, openThatOf, startGateway } from '../../support/gateway.ts';
import { makePet } from '../../support/make.ts';
import { readMetrics, sumOf } from '../../support/metrics.ts';
import { awaitStatus, readStatus, type Status } from '../../support/status.ts';

const DAY_MS = 86_400_000;
const IN_TEN_DAYS = toDay(new Date(Date.now() + 10 * DAY_MS));
const REQUESTS = 13;

/** Owns the database. Only the requests of `gateway`, which shares it, are counted. */
let first: Gateway;
let gateway: Gateway;
let status: Status;

const get = async (path: string, caller: string): Promise<void> => {
  await gateway.rest(path, { headers: { 'user-agent': caller } });
};

beforeAll(async () => {
  first = await startGateway({}, openCopyOnPglite);
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

describe('the /status page', () => {
  it('shows the version, the start time and the database', () => {
    expect(status).toMatchObject({
      version: VERSION,
      node: process.version,
      database: { embedded: true, state: 'ready' },
    });
    const uptimeMs = status.at - status.startedAt;
    expect(Math.abs(uptimeMs / 1000 - process.uptime())).toBeLessThan(60);
  });

  it('counts each request once, except requests for pages, /health, /ready and /metrics', () => {
    expect(status.requests.total).toBe(REQUESTS);
  });

  it('shows the same request durations as /metrics', async () => {
    const samples = await readMetrics(gateway);
    const counted = samples.filter(({ labels: { route = '' } }) =>
      countedRoutes(petStore.rest.operations).includes(route),
    );
    const { durations } = (await readStatus(gateway)).requests;
    expect(durations.at(-1)).toEqual({ le: '+Inf', total: REQUESTS });
    for (const { le, total } of durations) {
      expect(total).toBe(sumOf(counted, 'http_request_duration_seconds_bucket', { le }));
    }
  });

  it('counts errors by code, including errors in the data of GraphQL responses', () => {
    expect(status.errors).toEqual([
      { code: 'INVALID_ID', total: 3 },
      { code: 'NOT_FOUND', total: 1 },
      { code: 'ORDER_NOT_FOUND', total: 1 },
    ]);
  });

  it('shows the load of the event loop and the memory, but no connection pool for the embedded database', () => {
    expect(status.eventLoop).toEqual([
      { state: 'active', total: expect.any(Number) },
      { state: 'idle', total: expect.any(Number) },
    ]);
    expect(status.memoryBytes).toBeGreaterThan(1e7);
    expect(status.pool).toBeUndefined();
  });

  it('shows the callers of deprecated operations, and the days until the sunset', () => {
    expect(status.deprecated).toEqual([
      {
        sunset: IN_TEN_DAYS,
        // Midnight may have passed since the test started.
        daysLeft: (Date.parse(IN_TEN_DAYS) - Date.parse(toDay(new Date(status.at)))) / DAY_MS,
        enforced: false,
        callers: [
          { caller: 'shop', total: 5 },
          { caller: 'till', total: 2 },
        ],
      },
      { enforced: false, callers: [] },
    ]);
  });

  it('reports that the database accepts no writes', async () => {
    await first.db.write(sql`set default_transaction_read_only = on`);
    const { database } = await readStatus(gateway);
    await first.db.write(sql`set default_transaction_read_only = off`);
    expect(database).toMatchObject({ state: 'read-only' });
    expect((await readStatus(gateway)).database).toMatchObject({ state: 'ready' });
  });
});
