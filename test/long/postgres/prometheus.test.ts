import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openEvents } from '../../support/live.ts';
import { post } from '../../support/post.ts';
import { createStoreOn, runSql } from '../../support/postgres.ts';
import { killPrograms, type Program, startProgram } from '../../support/program.ts';
import {
  complaintsOf,
  hasPrometheus,
  type Prometheus,
  readDeployed,
  readPanelQueries,
  readRules,
  startPrometheus,
} from '../../support/prometheus.ts';
import { type Replication, startReplication } from '../../support/replication.ts';
import { AUTH_BY_SECRET, bearing, mint } from '../../support/tokens.ts';

const WAIT = { timeout: 60_000, interval: 250 };
const SCOPES = 'read pets:write inventory:write orders:write metrics';
// Its sunset has passed, so its calls are an alert.
const SUNSET = { SUNSET_DATE: '2026-11-21' };

const PETS = 'query Pets { pets(first: 5) { totalCount nodes { name category { name } } } }';
const NESTED = `query Nested($first: Int) { categories(first: 3) { nodes { pets(first: $first) { nodes { name } } } } }`;
const COSTLY = `query Costly { ${'pets(first: 100) { nodes { category { '.repeat(3)} id ${'} } } '.repeat(3)} }`;
const CREATE = `mutation Create($name: String!) {
  createCategory(input: { name: $name }) { ... on Category { id } ... on Error { code } } }`;
const RENAME = `mutation Rename {
  updateCategory(id: 1, input: { name: "Dogs" }) { ... on Category { id } ... on Error { code } } }`;
const STALE = `mutation Stale {
  updateInventory(petId: 1, input: { quantity: 1 }, expectedQuantity: 99) { ... on StaleInventory { quantity } } }`;

// What the load brings about; the slow alert of errors needs a quarter of an hour.
const FAULTS = [
  'GatewayBug',
  'GatewayDeprecatedCallsAfterSunset',
  'GatewayErrorsFast',
  'GatewayErrorsSlow',
];
// Three of prom-client, and one that had its name before.
const UNCONVENTIONAL = [
  'database_pool_total',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

const queries = readPanelQueries();
// At the moment of a scrape, all or no connections may be idle, and a replica up to date; the sunset has passed.
const MAY_BE_ZERO = new Set([
  'Waiting for a connection',
  'Connections',
  'Lag of replicas',
  'Days until the sunset',
]);

const FOLLOW = 'subscription Follow { categoryChanged { kind } }';

/** What callers send again and again: reads, writes, calls of what is deprecated, and faults. */
const LOAD: readonly object[] = [
  { query: PETS },
  { query: NESTED, variables: { first: 2 } },
  { query: CREATE, variables: { name: 'Cats' } },
  // The database rejects this name, which only an operator who changes its schema can bring about.
  { query: CREATE, variables: { name: 'unlucky' } },
  { query: RENAME },
  { query: STALE },
  { query: COSTLY },
  { query: '{ pet(id: "none") { name } }' },
  { query: `{ ${'a'.repeat(60_000)} }` },
];

let replication: Replication;
let program: Program;
let prometheus: Prometheus;
let load: Promise<unknown>;
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

/** Returns the configuration of the repository, for this gateway and with shorter intervals. */
const toConfiguration = (target: string): string =>
  readDeployed('prometheus/prometheus.yaml')
    .replaceAll(/(scrape|evaluation)_interval: 15s/g, '$1_interval: 1s')
    .replace('/etc/prometheus/pet-store-gateway.token', 'token')
    .replace('127.0.0.1:4000', target);

/** Replaces the variables of the dashboard. */
const fill = (expr: string): string =>
  expr
    .replaceAll('$job', 'pet-store-gateway')
    .replaceAll('$instance', '.*')
    .replaceAll('$__rate_interval', '10s')
    .replaceAll('$__range', '5m');

/** Returns the largest value that a query returns; undefined if it returns none. */
async function largest(expr: string): Promise<number | undefined> {
  const samples = await prometheus.query(fill(expr));
  const values = samples.map(({ value }) => value).filter((value) => !Number.isNaN(value));
  return values.length > 0 ? Math.max(...values) : undefined;
}

describe.skipIf(!hasPrometheus)("Prometheus (needs Debian's package `prometheus`)", () => {
  beforeAll(async () => {
    replication = await startReplication({ replicas: 1 });
    const [primary, replica] = replication.servers;
    if (!primary || !replica) throw new Error('There are a primary and a replica.');
    const url = await createStoreOn(primary.url);
    await runSql(
      url,
      `alter table categories add constraint no_bad_luck check (name <> 'unlucky');
       insert into categories (name) values ('Dogs');
       insert into pets (name, category_id) select 'Rex', 1 from generate_series(1, 10);
       insert into inventory_items (pet_id, quantity) values (1, 5)`,
    );
    const environment = {
      ...AUTH_BY_SECRET,
      ...SUNSET,
      DATABASE_URL: url,
      DATABASE_REPLICA_URLS: replica.urlOf(url),
      POOL_SIZE: '2',
    };
    program = await startProgram({ ...environment, WORKERS: '2' });
    const token = await mint({ exp: 3600, scope: SCOPES });
    prometheus = await startPrometheus({
      'prometheus.yaml': toConfiguration(new URL(program.url).host),
      'rules.yaml': readDeployed('prometheus/rules.yaml').replace('interval: 30s', 'interval: 1s'),
      token,
    });
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

  it.each(queries.filter(({ title }) => !MAY_BE_ZERO.has(title)))(
    'has more than zero for $title: $expr',
    async ({ expr }) => {
      await expect.poll(() => largest(expr), WAIT).toBeGreaterThan(0);
    },
  );

  it.each(queries.filter(({ title }) => MAY_BE_ZERO.has(title)))(
    'has data for $title: $expr',
    async ({ expr }) => {
      await expect.poll(() => largest(expr), WAIT).toBeTypeOf('number');
    },
  );

  const records = readRules().flatMap(({ record }) => record ?? []);

  it.each(records)('records %s', async (record) => {
    await expect.poll(() => largest(record), WAIT).toBeGreaterThan(0);
  });

  it('evaluates each rule without an error', async () => {
    const names = readRules().map(({ record, alert }) => record ?? alert);
    const expected = Object.fromEntries(names.map((name) => [name, undefined]));
    await expect.poll(() => prometheus.ruleErrors(), WAIT).toEqual(expected);
  });

  it.each(FAULTS.slice(0, 3))('finds what %s is for', async (alert) => {
    const expr = `ALERTS{alertname="${alert}"}`;
    await expect.poll(() => largest(expr), WAIT).toBe(1);
  });

  it('is not alarmed by anything else', async () => {
    const firing = await prometheus.query('ALERTS{alertstate="firing"}');
    const others = firing.filter(({ metric }) => !FAULTS.includes(metric['alertname'] ?? ''));
    expect(others).toEqual([]);
  });

  it('has nothing against the names of metrics but old ones and those of prom-client', async () => {
    const response = await fetch(`${program.url}/metrics`, { headers });
    const lines = complaintsOf(['check', 'metrics'], await response.text())
      .split('\n')
      .filter((line) => line !== '');
    expect(lines.toSorted()).toEqual(
      UNCONVENTIONAL.map((name) => `${name} non-counter metrics should not have "_total" suffix`),
    );
  });

  it('names the caller of what is deprecated, and until when it works', async () => {
    const [calls = '', until = ''] = readPanelQueries()
      .filter(({ title }) => title === 'Who still calls what is deprecated')
      .map(({ expr }) => expr);
    const byTill = { operation: 'GET /pets/{petId}', caller: 'till' };
    const ofTill = async (expr: string) =>
      (await prometheus.query(fill(expr))).filter(({ metric }) => metric['caller'] === 'till');
    expect(await ofTill(calls)).toEqual([{ metric: byTill, value: expect.any(Number) }]);
    const sunset = Date.parse(SUNSET.SUNSET_DATE);
    expect(await ofTill(until)).toEqual([{ metric: byTill, value: sunset }]);
    const operations = (await prometheus.query(fill(calls))).map(
      ({ metric }) => metric['operation'],
    );
    expect(operations).toContain('StaleInventory.quantity');
    expect(operations).not.toContain('Query.pets');
  });
});

describe.skipIf(!hasPrometheus)("promtool (needs Debian's package `prometheus`)", () => {
  it.each([
    ['accepts prometheus.yaml', ['check', 'config', '--syntax-only', 'prometheus.yaml']],
    ['accepts rules.yaml', ['check', 'rules', 'rules.yaml']],
    ['finds that each alert fires when it should', ['test', 'rules', 'rules.test.yaml']],
  ])('%s', (_what, args) => {
    expect(complaintsOf(args)).toBe('');
  });
});
