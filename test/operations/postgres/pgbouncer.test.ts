import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

import { readConfig } from '../../../src/config/config.ts';
import { migratePostgres, openPostgres } from '../../../src/database/postgres.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { copyOnPostgres } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { makeCategory, makePet, stockOf } from '../../support/make.ts';
import {
  countLockWaits,
  createDatabaseOn,
  dropDatabaseOn,
  freePort,
  holdLock,
  runSql,
} from '../../support/postgres.ts';

const PROGRAM = 'pgbouncer';
const hasPgbouncer = spawnSync(PROGRAM, ['--version']).status === 0;
// Fewer than the connections of the gateways, which have to share them.
const SERVER_CONNECTIONS = 2;

interface Pooler {
  /** Returns the URL of the same database through the pooler. */
  through(url: string): string;
  stop(): Promise<void>;
}

/** Starts PgBouncer in transaction mode before a PostgreSQL. */
async function startPgbouncer(server: string): Promise<Pooler> {
  const { hostname, port, username, password } = new URL(server);
  const ownPort = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'store-pgbouncer-'));
  const file = join(folder, 'pgbouncer.ini');
  const secret = password ? ` password=${decodeURIComponent(password)}` : '';
  await writeFile(
    file,
    `[databases]
* = host=${hostname} port=${port || '5432'} user=${decodeURIComponent(username)}${secret}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ownPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${SERVER_CONNECTIONS}
max_client_conn = 200
`,
  );
  // It does not run as root, but changes to another user after it has read the file.
  const user = process.getuid?.() === 0 ? ['--user', 'nobody'] : [];
  const child = spawn(PROGRAM, [...user, file]);
  const end = new Promise((resolve) => void child.once('close', resolve));
  let messages = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      messages += text;
      if (messages.includes('process up')) resolve();
    });
    void end.then(() => reject(new Error(`PgBouncer did not start:\n${messages}`)));
  });
  const through = (url: string): string => {
    const { pathname } = new URL(url);
    return `postgresql://anybody@127.0.0.1:${ownPort}${pathname}`;
  };
  return {
    through,
    stop: async () => {
      child.kill('SIGTERM');
      await end;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const place = async (gateway: Gateway, input: Record<string, unknown>, idempotencyKey?: string) =>
  (
    await gateway.data(
      `mutation ($input: NewOrder!, $key: String) {
        placeOrder(input: $input, idempotencyKey: $key) {
          ... on Order { id shipDate } ... on Error { code }
        }
      }`,
      { input, key: idempotencyKey },
    )
  ).placeOrder;

const setStock = async (gateway: Gateway, petId: string, quantity: number, expected: number) =>
  (
    await gateway.data(
      `mutation ($petId: ID!, $quantity: Int!, $expected: Int!) {
        updateInventory(petId: $petId, input: { quantity: $quantity }, expectedQuantity: $expected) {
          ... on InventoryItem { quantity } ... on Error { code }
        }
      }`,
      { petId, quantity, expected },
    )
  ).updateInventory;

describe.skipIf(!hasPgbouncer)(
  'PgBouncer in transaction mode (needs pgbouncer on the PATH)',
  () => {
    const ENVIRONMENT = { PGBOUNCER: 'true' };
    let pooler: Pooler;
    let database: Awaited<ReturnType<typeof copyOnPostgres>>;
    let first: Gateway;
    let second: Gateway;

    beforeAll(async () => {
      database = await copyOnPostgres();
      // Sessions that do not set these read and write times and text in other forms.
      const name = new URL(database.url).pathname.slice(1);
      await runSql(
        database.url,
        `alter database ${name} set timezone to 'America/New_York';
         alter database ${name} set datestyle to 'SQL, DMY';
         alter database ${name} set standard_conforming_strings to off;
         alter database ${name} set bytea_output to escape`,
      );
      pooler = await startPgbouncer(database.url);
      const url = pooler.through(database.url);
      const open = () => startGateway(ENVIRONMENT, (config, log) => openPostgres(url, config, log));
      [first, second] = await Promise.all([open(), open()]);
    });
    afterAll(async () => {
      try {
        await Promise.all([first.close(), second.close()]);
      } finally {
        await pooler.stop();
        await database.drop();
      }
    });

    /** Does something `count` times at once, through both gateways in turn. */
    const atOnce = <Result>(
      count: number,
      work: (gateway: Gateway, index: number) => Promise<Result>,
    ): Promise<Result[]> =>
      Promise.all(
        Array.from({ length: count }, (_, index) => work(index % 2 ? second : first, index)),
      );

    it('shares its few connections among all of both gateways', async () => {
      await atOnce(100, (gateway) => gateway.db.prisma.$queryRaw`select 1`);
      const admin = new URL(pooler.through(database.url));
      admin.pathname = '/pgbouncer';
      const clients = await runSql(admin.href, 'show clients');
      const mine = clients.filter((row) => row['application_name'] === 'pet-store-gateway');
      expect(mine.length).toBeGreaterThan(SERVER_CONNECTIONS);
      const [backends] = await runSql(
        database.url,
        `select count(*)::int as count from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()`,
      );
      expect(backends?.['count']).toBeLessThanOrEqual(SERVER_CONNECTIONS);
    });

    it('returns the same result to the same queries through both gateways', async () => {
      const categoryId = await makeCategory(first, 'Pooled');
      const petId = await makePet(second, { name: 'Drop', categoryId, stock: 3 });
      const found = await atOnce(100, (gateway) =>
        gateway.data(
          `query ($id: ID!) {
            category(id: $id) { name pets(first: 1) { nodes { id inventory { quantity } } } }
          }`,
          { id: categoryId },
        ),
      );
      const category = {
        name: 'Pooled',
        pets: { nodes: [{ id: petId, inventory: { quantity: 3 } }] },
      };
      expect(found).toEqual(found.map(() => ({ category })));
    });

    it('streams every order of REST', async () => {
      const petId = await makePet(first, { stock: 30 });
      const made = await atOnce(30, (gateway) => place(gateway, { petId, quantity: 1 }));
      const [one, other] = await atOnce(2, async (gateway) => {
        const orders = (await (await gateway.rest('/store/orders')).json()) as { id: number }[];
        return orders.map(({ id }) => String(id));
      });
      expect(one).toEqual(expect.arrayContaining(made.map(({ id }) => id)));
      expect(other).toEqual(one);
    });

    it('uses each idempotency key once, although several requests have it at once', async () => {
      const petId = await makePet(first, { stock: 100 });
      const orders = await atOnce(40, (gateway, index) =>
        place(gateway, { petId, quantity: 1 }, `pooled-${index >> 2}`),
      );
      expect(new Set(orders.map(({ id }) => id)).size).toBe(10);
      expect(await stockOf(second, petId)).toBe(90);
    });

    it('rolls back a failed write together with its idempotency key', async () => {
      const petId = await makePet(first, { stock: 1 });
      expect(await place(first, { petId, quantity: 2 }, 'refused')).toEqual({
        code: 'INSUFFICIENT_STOCK',
      });
      const keys = await runSql(database.url, `select from idempotency_keys where key = 'refused'`);
      expect(keys).toHaveLength(0);
    });

    it('lets one of many requests set the stock that all of them expect', async () => {
      const petId = await makePet(first, { stock: 5 });
      const results = await atOnce(20, (gateway, index) =>
        setStock(gateway, petId, 100 + index, 5),
      );
      expect(results.filter(({ code }) => code === 'STALE_INVENTORY')).toHaveLength(19);
      const [won] = results.filter(({ code }) => !code);
      expect(await stockOf(second, petId)).toBe(won.quantity);
    });

    it('sells 50 units 50 times to 200 orders at once', async () => {
      const petId = await makePet(first, { stock: 50 });
      const orders = await atOnce(200, (gateway) => place(gateway, { petId, quantity: 1 }));
      expect(orders.filter(({ id }) => id)).toHaveLength(50);
      expect(orders.filter(({ code }) => code === 'INSUFFICIENT_STOCK')).toHaveLength(150);
      expect(await stockOf(first, petId)).toBe(0);
    });

    it('keeps ship dates beside sessions in other time zones', async () => {
      const petId = await makePet(first, { stock: 60 });
      const dates = Array.from({ length: 60 }, (_, index) =>
        new Date(Date.UTC(2027, index % 12, 1 + (index % 28), index % 24, 30)).toISOString(),
      );
      const strangers = ['Asia/Tokyo', null].map(async (zone) => {
        const client = new Client({ connectionString: pooler.through(database.url) });
        await client.connect();
        if (zone) await client.query(`set time zone '${zone}'`);
        for (let turn = 0; turn < 50; turn += 1) {
          const { rows } = await client.query('show time zone');
          expect(rows).toEqual([{ TimeZone: zone ?? 'America/New_York' }]);
        }
        await client.end();
      });
      const orders = await atOnce(60, (gateway, index) =>
        place(gateway, { petId, quantity: 1, shipDate: dates[index] }),
      );
      expect(orders.map(({ shipDate }) => shipDate)).toEqual(dates);
      const found = await atOnce(60, async (gateway, index) => {
        const { order } = await gateway.data('query ($id: ID!) { order(id: $id) { shipDate } }', {
          id: orders[index].id,
        });
        return order.shipDate;
      });
      expect(found).toEqual(dates);
      await Promise.all(strangers);
      const stored = await runSql(
        database.url,
        `set datestyle to iso; select ship_date from orders where pet_id = ${petId} order by ship_date`,
      );
      expect(stored.map((row) => (row['ship_date'] as Date).toISOString())).toEqual(
        dates.toSorted(),
      );
    });

    it('leaves its timeouts out of the sessions of others', async () => {
      await atOnce(40, (gateway) => gateway.db.prisma.$queryRaw`select 1`);
      for (const limit of ['statement_timeout', 'idle_in_transaction_session_timeout']) {
        const rows = await runSql(pooler.through(database.url), `show ${limit}`);
        expect(rows).toEqual(await runSql(database.url, `show ${limit}`));
      }
    });

    it('runs further statements after one that took too long', async () => {
      const gateway = await startGateway(
        { ...ENVIRONMENT, POOL_SIZE: '1', STATEMENT_TIMEOUT_MS: '100' },
        (config, log) => openPostgres(pooler.through(database.url), config, log),
      );
      await expect(gateway.db.prisma.$queryRaw`select pg_sleep(3)::text`).rejects.toThrow(
        'PostgreSQL did not respond in time',
      );
      expect(await gateway.data('{ __typename pets { totalCount } }')).toHaveProperty('pets');
      await gateway.close();
    });

    it('ends the statement of a caller that has gone', async () => {
      const release = await holdLock(database.url, 'lock table pets');
      const controller = new AbortController();
      const { signal } = controller;
      fetch(`${first.url}/graphql?query={pets{nodes{id}}}`, { signal }).catch(() => {});
      await expect.poll(() => countLockWaits(database.url)).toBe(1);
      controller.abort();
      await expect.poll(() => countLockWaits(database.url)).toBe(0);
      await release();
    });

    it('writes nothing later if a timeout of the database ends a statement', async () => {
      const copy = await copyOnPostgres();
      const name = new URL(copy.url).pathname.slice(1);
      await runSql(copy.url, `alter database ${name} set statement_timeout to 300`);
      const gateway = await startGateway(ENVIRONMENT, (config, log) =>
        openPostgres(pooler.through(copy.url), config, log),
      );
      const petId = await makePet(gateway, { stock: 1 });
      const holder = new Client({ connectionString: copy.url });
      await holder.connect();
      await holder.query(`begin; select from inventory_items where pet_id = ${petId} for update`);
      const { errors } = await gateway.graphql(
        `mutation ($petId: ID!) { placeOrder(input: { petId: $petId, quantity: 1 }) { __typename } }`,
        { petId },
      );
      expect(errors).toHaveLength(1);
      expect(gateway.loggedErrors.splice(0)).toHaveLength(1);
      expect(await countLockWaits(copy.url)).toBe(0);
      await holder.end();
      expect(await stockOf(gateway, petId)).toBe(1);
      await gateway.close();
      await copy.drop();
    });

    it('leaves its formats out of the sessions of others', async () => {
      await atOnce(40, (gateway) => gateway.db.prisma.$queryRaw`select 1`);
      const forms = ['DateStyle', 'TimeZone', 'standard_conforming_strings', 'bytea_output'];
      for (const form of forms) {
        const rows = await runSql(pooler.through(database.url), `show ${form}`);
        expect(rows).toEqual(await runSql(database.url, `show ${form}`));
      }
    });

    it.each([
      ['session_replication_role', 'replica'],
      ['gin_fuzzy_search_limit', '5'],
    ])('does not start on a database with %s = %s', async (setting, value) => {
      const copy = await copyOnPostgres();
      const name = new URL(copy.url).pathname.slice(1);
      await runSql(copy.url, `alter database ${name} set ${setting} to ${value}`);
      const opened = openPostgres(
        pooler.through(copy.url),
        readConfig(ENVIRONMENT),
        createLog('silent'),
      );
      await expect(opened).rejects.toThrow(`ALTER ROLE … SET ${setting} = `);
      await copy.drop();
    });

    it('answers /ready for many requests at once', async () => {
      const [answer] = await atOnce(20, async (gateway) => (await gateway.rest('/ready')).json());
      expect(answer).toEqual({ status: 'ready', writes: true });
    });

    it('warns of a database without a timeout', async () => {
      const warnings: unknown[] = [];
      const log = createLog('silent');
      log.warn = (text: unknown) => void warnings.push(text);
      const db = await openPostgres(pooler.through(database.url), readConfig(ENVIRONMENT), log);
      await db.close();
      expect(warnings).toEqual([expect.stringContaining('statement_timeout')]);
    });

    it('migrates a new database by several gateways at once', async () => {
      const { server } = inject('emptyPostgres');
      const url = await createDatabaseOn(server);
      const log = createLog('error');
      await Promise.all(
        Array.from({ length: 5 }, () =>
          migratePostgres(pooler.through(url), readConfig(ENVIRONMENT), log),
        ),
      );
      const gateway = await startGateway(ENVIRONMENT, (config) =>
        openPostgres(pooler.through(url), config, log),
      );
      expect(await makeCategory(gateway)).toBe('1');
      await gateway.close();
      await dropDatabaseOn(server, url);
    });
  },
);
