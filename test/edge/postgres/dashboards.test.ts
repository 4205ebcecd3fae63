import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openDatabase } from '../../../src/database/open.ts';
import { COUNTED_ROUTES } from '../../../src/server/status.ts';
import { copyOnPostgres } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import {
  metricsIn,
  readDeployed,
  readPanelQueries,
  readPanels,
  readRules,
} from '../../support/prometheus.ts';

const rules = readRules();
const alerts = rules.filter(({ alert }) => alert !== undefined);
const records = rules.flatMap(({ record }) => record ?? []);

let gateway: Gateway;
let dropStore: () => Promise<void>;
beforeAll(async () => {
  const { url, drop } = await copyOnPostgres();
  dropStore = drop;
  // A gateway with several servers has the metrics of each.
  gateway = await startGateway({ DATABASE_URL: url, DATABASE_REPLICA_URLS: url }, openDatabase);
});
afterAll(async () => {
  await gateway.close();
  await dropStore();
});

/** The names of the samples that a metric has. */
const sampleNames = (name: string, type: string): string[] =>
  type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];

/** Returns the names that queries can use: those of /metrics, of recording rules and of Prometheus itself. */
async function findNames(): Promise<Set<string>> {
  const text = await (await gateway.rest('/metrics')).text();
  const exposed = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type = '']) =>
    sampleNames(name, type),
  );
  // The primary process of several workers adds `worker_up`.
  return new Set([...exposed, ...records, 'worker_up', 'up']);
}

/** Returns how the queries select several routes; a query without a route counts all of them. */
const routeSelectors = (exprs: readonly string[]): string[] =>
  exprs.flatMap((expr) => Array.from(expr.matchAll(/\broute[=!]~"(.*?)"/g), ([all]) => all));

describe('the routes of the panels and alerts', () => {
  it('are those that /status counts', () => {
    const exprs = [...readPanelQueries(), ...rules].map(({ expr }) => expr);
    const selectors = new Set(routeSelectors(exprs));
    expect(selectors.size).toBe(1);
    const [, pattern = ''] = /^route=~"(.*)"$/.exec([...selectors].join('')) ?? [];
    const isSelected = (route: string): boolean => new RegExp(`^(${pattern})$`).test(route);
    expect([...COUNTED_ROUTES].filter((route) => !isSelected(route))).toEqual([]);
    const auxiliary = [
      '/',
      '/assets',
      '/docs',
      '/docs/moving',
      '/health',
      '/metrics',
      '/openapi.json',
    ];
    const others = [...auxiliary, '/ready', '/schema.graphql', '/status', '/status.json'];
    expect(others.filter(isSelected)).toEqual([]);
  });
});

describe('deploy/grafana/pet-store-gateway.json', () => {
  it('queries metrics that a gateway exposes', async () => {
    const names = await findNames();
    const queried = readPanelQueries().flatMap(({ expr }) => metricsIn(expr));
    expect(new Set(queried).size).toBeGreaterThan(25);
    expect(queried.filter((name) => !names.has(name))).toEqual([]);
  });

  it('has a description, a unit and a legend for each panel', () => {
    const panels = readPanels().filter(({ type }) => type !== 'row');
    const graphs = panels.filter(({ type }) => type !== 'table');
    expect(panels.filter(({ description }) => !description)).toEqual([]);
    expect(graphs.filter((panel) => !JSON.stringify(panel).includes('"unit":'))).toEqual([]);
    const withoutLegend = graphs.filter(({ targets = [] }) =>
      targets.some(({ legendFormat }) => !legendFormat),
    );
    expect(withoutLegend).toEqual([]);
  });
});

describe('deploy/prometheus/rules.yaml', () => {
  it('queries metrics that a gateway exposes', async () => {
    const names = await findNames();
    const queried = rules.flatMap(({ expr }) => metricsIn(expr));
    expect(new Set(queried).size).toBeGreaterThan(15);
    expect(queried.filter((name) => !names.has(name))).toEqual([]);
  });

  it.each(alerts)('has for $alert what is wrong, what to do, and a test', ({ alert, ...rest }) => {
    expect(rest.labels?.['severity']).toMatch(/^(page|ticket)$/);
    expect(Object.keys(rest.annotations ?? {})).toEqual(['summary', 'description', 'action']);
    expect(readDeployed('prometheus/rules.test.yaml')).toContain(`alertname="${alert}"`);
  });

  it('names panels of the dashboard that exist', () => {
    const titles = readPanels().map(({ title }) => title);
    const named = alerts.flatMap(({ annotations }) =>
      Array.from((annotations?.['action'] ?? '').matchAll(/"(.*?)"/g), ([, title = '']) => title),
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((title) => !titles.includes(title))).toEqual([]);
  });
});
