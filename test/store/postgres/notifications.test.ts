import { setTimeout as sleep } from 'node:timers/promises';

import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';

import { readConfig } from '../../../src/gateway/config/config.ts';
import {
  createNotifications,
  type Notifications,
} from '../../../src/gateway/database/notifications.ts';
import { PostgresServer } from '../../../src/gateway/database/postgres-server.ts';
import { createLog } from '../../../src/gateway/telemetry/log.ts';
import { copyOnPostgres } from '../../support/databases.ts';
import { runSql } from '../../support/postgres.ts';

const WAIT = { timeout: 10_000, interval: 20 };
const RECONNECT_MS = 1000;
const NAME = `notifications_${process.pid}`;
const CONNECTIONS = `from pg_stat_activity where application_name = '${NAME}'`;

let url: string;
let drop: () => Promise<void>;
beforeAll(async () => {
  ({ url, drop } = await copyOnPostgres());
});
afterAll(() => drop());

let notifications: Notifications;
/** When each connection was opened. */
let opened: number[];
/** How many of the next LISTEN statements the server rejects, as a pooler would. */
let refusals: number;
/** How often the listener was called. */
let calls: number;

async function connect(): Promise<Client> {
  opened.push(performance.now());
  const client = new Client({ connectionString: url, application_name: NAME });
  client.on('error', () => {});
  await client.connect();
  if (refusals > 0) {
    refusals--;
    await client.query('begin');
    await client.query('select 1 / 0').catch(() => {});
  }
  return client;
}

/** The number of notifications sent, and the last send, which may still be running. */
let sent: number;
let last: Promise<void> | undefined;

async function countSent(sql: string): Promise<void> {
  await runSql(url, sql);
  sent += 1;
}

const send = (sql: string): Promise<void> => (last = countSent(sql));

beforeEach(() => {
  opened = [];
  sent = 0;
  refusals = 0;
  calls = 0;
  notifications = createNotifications(connect, send, createLog('error'));
});
afterEach(async () => {
  await notifications.close();
  await last;
});

const backends = (): Promise<Record<string, unknown>[]> =>
  runSql(url, `select query ${CONNECTIONS}`);

/**
 * Expects one open connection to receive a notification, and at least a second between the openings of connections.
 */
async function expectOneListens(): Promise<void> {
  await expect.poll(backends, WAIT).toHaveLength(1);
  const before = calls;
  await expect
    .poll(async () => {
      await runSql(url, 'notify store_changes');
      return calls;
    }, WAIT)
    .toBeGreaterThan(before);
  const pauses = opened.slice(1).map((at, index) => at - (opened[index] ?? 0));
  // A timer may fire a millisecond early.
  expect(Math.min(...pauses)).toBeGreaterThan(RECONNECT_MS - 5);
  expect(await backends()).toHaveLength(1);
}

it('only one connection listens after LISTEN was rejected several times', async () => {
  refusals = 3;
  notifications.listen(() => calls++);
  // Many writes do not cause more connections.
  await expect
    .poll(() => {
      notifications.notify();
      return [refusals, calls > 0];
    }, WAIT)
    .toEqual([0, true]);
  await expectOneListens();
  expect(opened).toHaveLength(4);
});

it('a gateway is notified by other gateways, but not by itself', async () => {
  const other = createNotifications(connect, send, createLog('error'));
  notifications.listen(() => calls++);
  await expect.poll(() => calls, WAIT).toBe(1);
  notifications.notify();
  await expect.poll(() => sent, WAIT).toBe(1);
  other.notify();
  // PostgreSQL delivers notifications in the order of their commits.
  await expect.poll(() => [calls, sent], WAIT).toEqual([2, 2]);
  expect(opened).toHaveLength(1);
  await other.close();
});

it('a connection that can no longer listen, such as one to a frozen server, is replaced', async () => {
  let client: Client | undefined;
  const failing = createNotifications(
    async () => (client = await connect()),
    send,
    createLog('error'),
  );
  failing.listen(() => calls++);
  await expect.poll(() => calls, WAIT).toBe(1);
  await client?.query('begin');
  await client?.query('select 1 / 0').catch(() => {});
  await expect.poll(() => opened, WAIT).toHaveLength(2);
  await expectOneListens();
  await failing.close();
});

it('a failover closes the connection that listens too', async () => {
  const server = new PostgresServer(url, readConfig({}), createLog('error'));
  const client = await server.connect();
  const ended = new Promise<boolean>((resolve) => void client.on('end', () => resolve(true)));
  server.abort();
  expect(await ended).toBe(true);
  await server.close();
});

it('closing the notifications closes their connection', async () => {
  notifications.listen(() => calls++);
  await expectOneListens();
  await notifications.close();
  await expect.poll(backends, WAIT).toEqual([]);
});

it('closing the notifications stops reconnecting, without waiting for the next attempt', async () => {
  refusals = 1;
  notifications.listen(() => calls++);
  await expect.poll(() => refusals, WAIT).toBe(0);
  await expect.poll(backends, WAIT).toEqual([]);
  const start = performance.now();
  await notifications.close();
  expect(performance.now() - start).toBeLessThan(RECONNECT_MS / 2);
  await sleep(RECONNECT_MS + 100);
  expect(opened).toHaveLength(1);
});
