import { afterAll, beforeAll, expect, inject, it } from 'vitest';

import { openCopyOnPostgres } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { runSql } from '../../support/postgres.ts';
import { awaitStatus, readStatus } from '../../support/status.ts';

let gateway: Gateway;
let url: URL;
beforeAll(async () => {
  gateway = await startGateway({}, async (config, log) => {
    const db = await openCopyOnPostgres(config, log);
    url = new URL(db.url ?? '');
    return db;
  });
});
afterAll(() => gateway.close());

it('reports requests and the connection pool in /status.json', async () => {
  for (let count = 0; count < 4; count += 1) await gateway.data('{ pets { totalCount } }');
  const { requests, samples, processes } = await awaitStatus(gateway, 4);
  expect(requests).toEqual({ recent: 4, total: 4 });
  expect(processes).toEqual({ configured: 1, reporting: 1 });
  // The pool closes idle connections after a while.
  expect(samples.at(-1)?.pool).toMatchObject({ max: 10, waiting: 0 });
});

it('reports the version of the server in /status.json, but not where it is', async () => {
  const status = await readStatus(gateway);
  const [row] = await runSql(url.href, 'show server_version');
  expect(status.database).toEqual({
    kind: 'server',
    version: row?.['server_version'],
    state: 'ready',
  });
  const text = JSON.stringify(status);
  for (const secret of [url.hostname, url.port, url.password, url.pathname.slice(1)]) {
    expect(secret).not.toBe('');
    expect(text).not.toContain(`"${secret}`);
    expect(text).not.toMatch(new RegExp(`[/@:]${secret}`));
  }
});

it('reports in /status.json that the database does not respond', async () => {
  const { server } = inject('emptyPostgres');
  const name = url.pathname.slice(1);
  await runSql(server, `alter database "${name}" allow_connections false`);
  await runSql(
    server,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
  );
  const { database } = await readStatus(gateway);
  await runSql(server, `alter database "${name}" allow_connections true`);
  expect(database).toEqual({ kind: 'server', version: null, state: 'unreachable' });
  expect((await readStatus(gateway)).database).toMatchObject({ state: 'ready' });
});
