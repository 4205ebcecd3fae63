import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { type Daemon, startDaemon } from '../../support/daemon.ts';
import { copyOnPostgres, useProgramStore } from '../../support/databases.ts';
import { useFolder } from '../../support/folders.ts';
import { type Gateway, openAt, startGateway } from '../../support/gateway.ts';
import { makeCategory, makePet, stockOf } from '../../support/make.ts';
import {
  countLockWaits,
  freePort,
  holdLock,
  migratePostgres,
  runSql,
} from '../../support/postgres.ts';
import { startTcpProxy } from '../../support/proxies.ts';

const PROGRAM = 'pgbouncer';
const hasPgbouncer = spawnSync(PROGRAM, ['--version']).status === 0;
// Fewer than the connections of the gateways, which therefore share them.
const SERVER_CONNECTIONS = 2;

async function startPgbouncer(
  server: string,
  folder: string,
  mode = 'transaction',
  connections = SERVER_CONNECTIONS,
): Promise<[Daemon, number]> {
  const { hostname, port, username, password } = new URL(server);
  const ownPort = await freePort();
  const file = join(folder, `${ownPort}.ini`);
  await writeFile(
    file,
    `[databases]
* = host=${hostname} port=${port || '5432'} user=${username}${password && ` password=${password}`}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ownPort}
unix_socket_dir =
auth_type = any
admin_users = anybody
pool_mode = ${mode}
default_pool_size = ${connections}
max_client_conn = 200
`,
  );
  // PgBouncer does not run as root, but switches to another user after reading the file.
  const user = process.getuid?.() === 0 ? ['--user', 'nobody'] : [];
  return [await startDaemon(PROGRAM, [...user, file], /process up/), ownPort];
}
describe.skipIf(!hasPgbouncer)(
  'PgBouncer in transaction mode (needs pgbouncer on the PATH)',
  () => {
    const ENVIRONMENT = { PGBOUNCER: 'true' };
    const folder = useFolder();
    let pooler: Daemon;
    let port: number;
    /** Returns the URL of the same database through the pooler, or another one. */
    const through = (url: string, to = port): string =>
      `postgresql://anybody@127.0.0.1:${to}${new URL(url).pathname}`;
    const database = useProgramStore();
    const askPooler = (command: string) =>
      runSql(`postgresql://anybody@127.0.0.1:${port}/pgbouncer`, command);
    const open = ({ url }: { url: string } = database, variables = {}): Promise<Gateway> =>
      startGateway({ ...ENVIRONMENT, ...variables }, openAt(through(url)));
    let first: Gateway;
    let second: Gateway;

    beforeAll(async () => {
      // With these settings, times and text have other formats in a session that does not override the settings.
      const name = new URL(database.url).pathname.slice(1);
      await runSql(
        database.url,
        `alter database ${name} set timezone to 'America/New_York';
         alter database ${name} set datestyle to 'SQL, DMY';
         alter database ${name} set standard_conforming_strings to off;
         alter database ${name} set bytea_output to escape;
         alter database ${name} set client_connection_check_interval to '20ms'`,
      );
      [pooler, port] = await startPgbouncer(database.url, folder);
      [first, second] = await Promise.all([open(), open()]);
    });
    afterAll(async () => {
      try {
        await Promise.all([first.close(), second.close()]);
      } finally {
        await pooler.stop();
      }
    });

    /** Starts another pooler until the end of the test; returns its port. */
    async function startAnother(
      ...settings: [mode?: string, connections?: number]
    ): Promise<number> {
      const [other, to] = await startPgbouncer(database.url, folder, ...settings);
      onTestFinished(() => other.stop());
      return to;
    }

    /** Runs a function `count` times concurrently, alternating between both gateways. */
    const atOnce = <Result>(
      count: number,
      work: (gateway: Gateway, index: number) => Promise<Result>,
    ): Promise<Result[]> =>
      Promise.all(
        Array.from({ length: count }, (_, index) => work(index % 2 ? second : first, index)),
      );

    it('shares its few connections among all connections from both gateways', async () => {
      await atOnce(100, (gateway) => gateway.db.write(sql`select 1`));
      const clients = await askPooler('show clients');
      const mine = clients.filter((row) => row['application_name'] === 'pet-store-gateway');
      expect(mine.length).toBeGreaterThan(SERVER_CONNECTIONS);
      const [backends] = await runSql(
        database.url,
        `select count(*)::int as count from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()`,
      );
      expect(backends?.['count']).toBeLessThanOrEqual(SERVER_CONNECTIONS);
    });

    it('makes requests wait for the open connections if PgBouncer allows fewer than a pool has', async () => {
      const clients = await askPooler('show clients');
      const gateway = await open();
      await askPooler(`set max_client_conn = ${clients.length + 3}`);
      const created = Array.from({ length: 20 }, () => makeCategory(gateway));
      expect(new Set(await Promise.all(created)).size).toBe(20);
      expect(gateway.db.poolUse?.()[0]?.total).toBeLessThan(8);
      await gateway.close();
      await askPooler('set max_client_conn = 200');
    });

    it('lets a gateway cancel the statement of a client that disconnected', async () => {
      const release = await holdLock(database.url, 'lock table pets');
      const controller = new AbortController();
      const { signal } = controller;
      fetch(`${first.url}/graphql?query={pets{nodes{id}}}`, { signal }).catch(() => {});
      await expect.poll(() => countLockWaits(database.url)).toBe(1);
      controller.abort();
      await expect.poll(() => countLockWaits(database.url)).toBe(0);
      await release();
    });

    it("does not let a write happen later if the database's statement_timeout cancels its statement", async () => {
      const copy = await copyOnPostgres();
      const name = new URL(copy.url).pathname.slice(1);
      await runSql(copy.url, `alter database ${name} set statement_timeout to 300`);
      const gateway = await open(copy);
      const petId = await makePet(gateway, { stock: 1 });
      const release = await holdLock(copy.url, 'select from inventory_items for update');
      const { errors } = await gateway.graphql(
        `mutation ($petId: ID!) { placeOrder(input: { petId: $petId, quantity: 1 }) { __typename } }`,
        { petId },
      );
      expect(errors).toHaveLength(1);
      expect(gateway.loggedErrors.splice(0)).toHaveLength(1);
      expect(await countLockWaits(copy.url)).toBe(0);
      await release();
      expect(await stockOf(gateway, petId)).toBe(1);
      await gateway.close();
      await copy.drop();
    });

    it.each([
      'statement_timeout',
      'idle_in_transaction_session_timeout',
      'DateStyle',
      'TimeZone',
      'standard_conforming_strings',
      'bytea_output',
    ])("keeps a gateway's %s out of other sessions", async (setting) => {
      await atOnce(40, (gateway) => gateway.db.write(sql`select 1`));
      const rows = await runSql(through(database.url), `show ${setting}`);
      expect(rows).toEqual(await runSql(database.url, `show ${setting}`));
    });

    it.each([
      ['transaction', 1],
      ['transaction', 8],
      ['statement', 2],
    ])(
      'keeps a gateway without PGBOUNCER=true from starting: %s mode, %i connections',
      async (mode, connections) => {
        const to = await startAnother(mode, connections);
        await expect(migratePostgres(through(database.url, to))).rejects.toThrow(
          /^DATABASE_URL: .+: set PGBOUNCER=true\.$/,
        );
        // The pooler's connections have none of the gateway's settings.
        const settings = await runSql(through(database.url, to), 'show statement_timeout');
        expect(settings).toEqual([{ statement_timeout: '0' }]);
      },
    );

    it('serves a gateway without PGBOUNCER=true in session mode', async () => {
      const to = await startAnother('session', 20);
      await expect(migratePostgres(through(database.url, to))).resolves.toBeUndefined();
    });

    it('keeps a gateway from starting in statement mode, with a message that says so', async () => {
      const to = await startAnother('statement');
      await expect(migratePostgres(through(database.url, to), ENVIRONMENT)).rejects.toThrow(
        /^DATABASE_URL: .*statement pooling mode/,
      );
    });

    it('behind which a gateway gets while it runs, is named in its log with the setting', async () => {
      // Its connections keep the settings of the gateway's sessions.
      const to = await startAnother();
      const proxy = await startTcpProxy([database.url]);
      const url = Object.assign(new URL(database.url), { port: new URL(proxy.url).port }).href;
      const gateway = await startGateway({}, openAt(url));
      proxy.targets = [through(database.url, to)];
      proxy.cutAll();
      const send = () =>
        Promise.all(
          Array.from({ length: 40 }, (_, index) =>
            gateway.data(`{ pets(first: ${index % 5}) { totalCount nodes { name } } }`),
          ),
        );
      // Only once the pooler gives a connection the server of another one, is a statement lost.
      await expect
        .poll(async () => {
          await send();
          return gateway.loggedWarnings;
        })
        .toContainEqual(expect.stringContaining('set PGBOUNCER=true'));
      await gateway.close();
      await proxy.close();
    });

    it('makes the gateway log a warning for a database without statement_timeout', async () => {
      const gateway = await open();
      await gateway.close();
      expect(gateway.loggedWarnings).toEqual([expect.stringContaining('statement_timeout')]);
    });
  },
);
