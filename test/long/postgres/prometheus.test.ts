import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Daemon, startDaemon } from '../../support/daemon.ts';
import { useFolder } from '../../support/folders.ts';
import type { Data } from '../../support/gateway.ts';
import { openEvents } from '../../support/live.ts';
import { post } from '../../support/post.ts';
import { createStoreOn, freePort, runSql } from '../../support/postgres.ts';
import { killPrograms, type Program, startProgram } from '../../support/program.ts';
import { readDeployed, readPanelQueries, readRules } from '../../support/prometheus.ts';
import { type Replication, startReplication } from '../../support/replication.ts';
import { expectExplained } from '../../support/standards.ts';
import { AUTH_BY_SECRET, bearing, mint } from '../../support/tokens.ts';

const hasPrometheus = spawnSync('prometheus', ['--version']).status === 0;
const WAIT = { timeout: 60_000, interval: 250 };
const SCOPES = 'read pets:write inventory:write orders:write metrics';
// The sunset date has passed, so calls to the deprecated route fire an alert.
const SUNSET = { SUNSET_DATE: '2026-11-21' };

const PETS = 'query Pets { pets(first: 5) { totalCount nodes { name category { name } } } }';
const NESTED = `query Nested($first: Int) { categories(first: 3) { nodes { pets(first: $first) { nodes { name } } } } }`;
const COSTLY = `query Costly { ${'pets(first: 100) { nodes { category { '.repeat(3)} id ${'} } } '.repeat(3)} }`;
const CREATE = `mutation Create($name: String!) {
  createCategory(input: { name: $name }) { ... on Category { id } ... on Error { code } } }`;
const RENAME = `mutation Rename {
  updateCategory(id: 1, input: { name: "Dogs" }) { ... on Category { id } ... on Error { code } } }`;
const STALE = `mutation Stale {
  updateInventory(petId: 1, input: { quantity: 1 }, expectedQuantity: 99) { ... on StaleInventory { available } } }`;

// The alerts that the load causes. The last one fires only after a quarter of an hour, so no test waits for it.
const FAULTS = [
  'GatewayBug',
  'GatewayDeprecatedCallsAfterSunset',
  'GatewayErrorsFast',
  'GatewayErrorsSlow',
];
// Panels that may show only zero or less: nothing may wait for a connection, all or no connections may be idle, the change
// log is new, and the sunset has passed.
const MAY_BE_ZERO = new Set([
  'Waiting for a connection',
  'Connections',
  'Change log',
  'Days until sunset',
]);

const FOLLOW = 'subscription Follow { categoryChanged { kind } }';

const LOAD: readonly object[] = [
  { query: PETS },
  { query: NESTED, variables: { first: 2 } },
  { query: CREATE, variables: { name: 'Cats' } },
  // An operator's trigger rejects this name.
  { query: CREATE, variables: { name: 'unlucky' } },
  { query: RENAME },
  { query: STALE },
  { query: COSTLY },
  { query: '{ pet(id: "none") { name } }' },
  { query: `{ ${'a'.repeat(60_000)} }` },
];

let replication: Replication;
let program: Program;
let prometheus: Daemon;
let address: string;
let load: Promise<unknown>;
const folder = useFolder();
const end = new AbortController();
let headers: Record<string, string>;

async function sendLoad(): Promise<void> {
  while (!end.signal.aborted) {
    const stream = await openEvents(program, FOLLOW, { headers });
    const responses = LOAD.map((params) => post(program, params, { headers }));
    const path = '/pets/1';
    responses.push(fetch(program.url + path, { headers: { ...headers, 'user-agent': 'till/2' } }));
    for (const response of await Promise.all(responses)) await response.text();
    await stream.data();
    stream.disconnect();
  }
}

/** Returns the repository's configuration of Prometheus, changed to scrape this gateway at shorter intervals. */
const toConfiguration = (target: string): string =>
  readDeployed('prometheus/prometheus.yaml')
    .replaceAll(/(scrape|evaluation)_interval: 15s/g, '$1_interval: 1s')
    .replace('/etc/prometheus/pet-store-gateway.token', 'token')
    .replace('127.0.0.1:4000', target);

async function startPrometheus(token: string): Promise<void> {
  const rules = readDeployed('prometheus/rules.yaml').replace('interval: 30s', 'interval: 1s');
  await writeFile(join(folder, 'rules.yaml'), rules);
  await writeFile(join(folder, 'token'), token);
  const file = join(folder, 'prometheus.yaml');
  await writeFile(file, toConfiguration(new URL(program.url).host));
  address = `127.0.0.1:${await freePort()}`;
  prometheus = await startDaemon(
    'prometheus',
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
    ],
    /Server is ready to receive web requests/,
  );
}

async function ask(path: string): Promise<Data> {
  const response = await fetch(`http://${address}/api/v1/${path}`);
  const { data, error } = await response.json();
  if (error) throw new Error(error);
  return data;
}

const query = async (expr: string): Promise<Data[]> =>
  (await ask(`query?query=${encodeURIComponent(expr)}`)).result;

/** Returns the rules whose evaluation failed or has not happened yet. */
async function findFailing(): Promise<unknown[]> {
  const { groups } = await ask('rules');
  const rules: Data[] = groups.flatMap((group: Data) => group.rules);
  expect(rules).toHaveLength(readRules().length);
  return rules.filter(({ health }) => health !== 'ok');
}

const fill = (expr: string): string =>
  expr
    .replaceAll('$job', 'pet-store-gateway')
    .replaceAll('$instance', '.*')
    .replaceAll('$__rate_interval', '10s')
    .replaceAll('$__range', '5m');

async function largest(expr: string): Promise<number | undefined> {
  const samples = await query(fill(expr));
  const values = samples.map(({ value }) => Number(value[1])).filter((one) => !Number.isNaN(one));
  return values.length > 0 ? Math.max(...values) : undefined;
}

describe.skipIf(!hasPrometheus)("Prometheus (needs Debian's `prometheus` package)", () => {
  beforeAll(async () => {
    replication = await startReplication();
    const [primary, replica] = replication.servers;
    const url = await createStoreOn(primary.url);
    await runSql(
      url,
      `create function reject_bad_luck() returns trigger language plpgsql as
         $$ begin raise exception 'bad luck'; end $$;
       create trigger reject_bad_luck before insert on categories
         for each row when (new.name = 'unlucky') execute function reject_bad_luck();
       insert into categories (name) values ('Dogs');
       insert into pets (name, category_id) select 'Rex', 1 from generate_series(1, 10);
       insert into inventory_items (pet_id, quantity) values (1, 5)`,
    );
    program = await startProgram({
      ...AUTH_BY_SECRET,
      ...SUNSET,
      DATABASE_URL: url,
      DATABASE_REPLICA_URL: replica.urlOf(url),
      POOL_SIZE: '2',
    });
    const token = await mint({ exp: 3600, scope: SCOPES });
    await startPrometheus(token);
    headers = bearing(token);
    load = sendLoad();
  });
  afterAll(async () => {
    end.abort();
    await load;
    await prometheus.stop();
    await killPrograms();
    await replication.stop();
  });

  it.each(readPanelQueries())('has data for $title: $expr', async ({ title, expr }) => {
    const least = MAY_BE_ZERO.has(title) ? -Infinity : Number.MIN_VALUE;
    await expect.poll(() => largest(expr), WAIT).toBeGreaterThanOrEqual(least);
  });

  const records = readRules().flatMap(({ record }) => record ?? []);

  it.each(records)('records %s', async (record) => {
    await expect.poll(() => largest(record), WAIT).toBeGreaterThan(0);
  });

  it('evaluates each rule without an error', async () => {
    await expect.poll(findFailing, WAIT).toEqual([]);
  });

  it('serves metrics in which promtool finds only what docs/standards.md explains', async () => {
    const response = await fetch(`${program.url}/metrics`, { headers });
    const { stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: await response.text(),
      encoding: 'utf8',
    });
    const found = stderr.split('\n').filter((line) => line !== '');
    expectExplained(
      'promtool',
      found.map((line) => line.replace(' ', ': ')),
    );
  });

  it.each(FAULTS.slice(0, 3))(
    'fires the alert %s for the fault that it describes',
    async (alert) => {
      const expr = `ALERTS{alertname="${alert}"}`;
      await expect.poll(() => largest(expr), WAIT).toBe(1);
    },
  );

  it('fires no alert that the load does not cause', async () => {
    const firing = await query('ALERTS{alertstate="firing"}');
    const others = firing.filter(({ metric }) => !FAULTS.includes(metric.alertname));
    expect(others).toEqual([]);
  });
});

describe.skipIf(!hasPrometheus)("promtool (needs Debian's `prometheus` package)", () => {
  it.each([
    ['accepts prometheus.yaml', ['check', 'config', '--syntax-only', 'prometheus.yaml']],
    ['accepts rules.yaml', ['check', 'rules', 'rules.yaml']],
    ['confirms that each alert fires when it should', ['test', 'rules', 'rules.test.yaml']],
  ])('%s', (_what, args) => {
    const { status, stdout, stderr } = spawnSync('promtool', args, {
      encoding: 'utf8',
      cwd: 'deploy/prometheus',
    });
    expect(status === 0 ? '' : stdout + stderr).toBe('');
  });
});
