import { readFileSync } from 'node:fs';

import { beforeAll, describe, expect, it } from 'vitest';

import { petStore } from '../../../src/store/index.ts';
import { BROWSER, resolveFrom } from '../../support/browsing.ts';
import { useProgramStore } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { readMetrics, type Sample } from '../../support/metrics.ts';
import { readDeployed, readPanelQueries, readPanels, readRules } from '../../support/prometheus.ts';

const rules = readRules();
const alerts = rules.filter(({ alert }) => alert !== undefined);
const records = rules.flatMap(({ record }) => record ?? []);

const exprsOf = (queries: readonly { expr: string }[]): string =>
  queries.map(({ expr }) => expr).join(' ');

let gateway: Gateway;
const store = useProgramStore();
beforeAll(async () => {
  const { url } = store;
  // Only a gateway with a replica has a metric of it.
  gateway = await startGateway({ DATABASE_URL: url, DATABASE_REPLICA_URL: url });
  return () => gateway.close();
});

/** Returns the names that queries can use: from /metrics, recording rules and Prometheus itself. */
async function findNames(): Promise<string[]> {
  const text = await (await gateway.rest('/metrics')).text();
  const exposed = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`) : name,
  );
  return [...exposed, ...records, 'up'];
}

/** Opens a start page and every page and file below the gateway that it leads to. Returns the paths. */
async function openAll(own: Gateway, ...start: string[]): Promise<Set<string>> {
  // This set grows during the iteration.
  const paths = new Set(start);
  for (const path of paths) {
    const response = await own.rest(path, { headers: BROWSER });
    const text = await response.text();
    if (!response.headers.get('content-type')?.startsWith('text/html')) continue;
    for (const [, link = ''] of text.matchAll(/ (?:href|src)="([^"#?]+)/g)) {
      const found = resolveFrom(path, link);
      if (found.startsWith('/')) paths.add(found);
    }
  }
  return paths;
}

const isPoll = ({ labels }: Sample): boolean => labels['route'] === '/metrics';

it('the routes in the panels and alerts are /graphql, the REST routes and unknown paths, of all that a gateway serves', async () => {
  const exprs = exprsOf([...readPanelQueries(), ...rules]);
  // A query without a route matcher counts all routes.
  const selectors = new Set(exprs.match(/\broute[=!]~".*?"/g));
  expect(selectors.size).toBe(1);
  const [, pattern = ''] = /^route!~"(.*)"$/.exec([...selectors].join('')) ?? [];
  const isSelected = (route: string): boolean => !new RegExp(`^(${pattern})$`).test(route);

  const own = await startGateway();
  const opened = await openAll(own, '/', '/health', '/ready', '/nowhere', '/favicon.ico');
  const counts = async () =>
    (await readMetrics(own)).filter(({ name }) => name === 'http_request_duration_seconds_count');
  // Each request is counted once, but only after its response is complete.
  await expect
    .poll(async () => (await counts()).reduce((sum, one) => sum + (isPoll(one) ? 0 : one.value), 0))
    .toBe(opened.size - 1);
  const routes = new Set((await counts()).map(({ labels }) => labels['route'] ?? ''));
  await own.close();

  const pages = ['/', '/assets', '/docs/moving', '/guide/api', '/metrics', '/schema.graphql'];
  expect([...routes]).toEqual(expect.arrayContaining(pages));
  const ofRest = petStore.rest.routes.map(({ name }) => name.replace('GET ', ''));
  expect(new Set([...routes].filter(isSelected))).toEqual(
    new Set(['/graphql', 'other', ...ofRest]),
  );
  expect(isSelected('/books/{bookId}')).toBe(true);
});

// Two labels look like metrics.
const METRIC =
  /(?<![\w:])(?!operation_(?:name|type)\b)(?:change|database|dataloader|gateway|graphql|http|nodejs|operation|process|request|streams)_\w+/g;

it.each([
  ['docs/observability.md', readFileSync('docs/observability.md', 'utf8')],
  ['the dashboard', exprsOf(readPanelQueries())],
  ['the rules', exprsOf(rules)],
])('the metrics of a gateway include each one named in %s', async (_where, text) => {
  const names = await findNames();
  const named = text.match(METRIC) ?? [];
  expect(named.length).toBeGreaterThan(15);
  // The document names a histogram without the suffixes of its samples.
  expect(named.filter((name) => !names.some((one) => one.startsWith(name)))).toEqual([]);
});

describe('deploy/prometheus/rules.yaml', () => {
  it.each(alerts)('has a summary, instructions and a test for $alert', ({ alert, ...rest }) => {
    expect(rest.labels?.['severity']).toMatch(/^(page|ticket)$/);
    expect(Object.keys(rest.annotations ?? {})).toEqual(['summary', 'description', 'action']);
    expect(readDeployed('prometheus/rules.test.yaml')).toContain(`alertname="${alert}"`);
  });

  it('names only existing panels of the dashboard', () => {
    const titles = readPanels().map(({ title }) => title);
    const named = alerts.flatMap(({ annotations }) =>
      Array.from((annotations?.['action'] ?? '').matchAll(/"(.*?)"/g), ([, title = '']) => title),
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((title) => !titles.includes(title))).toEqual([]);
  });
});
