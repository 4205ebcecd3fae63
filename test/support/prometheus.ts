import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { parse } from 'yaml';

import { ROOT } from '../../src/config/root.ts';
import { freePort } from './postgres.ts';

const PROMETHEUS = 'prometheus';
const PROMTOOL = 'promtool';

/** Whether Debian's package `prometheus`, which has both programs, is installed. */
export const hasPrometheus = [PROMETHEUS, PROMTOOL].every(
  (program) => spawnSync(program, ['--version']).status === 0,
);

/** Runs promtool in deploy/prometheus/ and returns what it complains about; nothing if it succeeds. */
export function complaintsOf(args: readonly string[], input = ''): string {
  const { status, stdout, stderr } = spawnSync(PROMTOOL, args, {
    encoding: 'utf8',
    cwd: new URL('deploy/prometheus/', ROOT),
    input,
  });
  return status === 0 ? '' : stdout + stderr;
}

/** Returns the text of a file in deploy/. */
export const readDeployed = (file: string): string =>
  readFileSync(new URL(`deploy/${file}`, ROOT), 'utf8');

/** A query of a panel of the dashboard. */
export interface PanelQuery {
  readonly title: string;
  readonly expr: string;
}

/** A panel of the dashboard; a row has no queries. */
export interface Panel {
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

/** Reads the panels of the dashboard. */
export const readPanels = (): readonly Panel[] =>
  (JSON.parse(readDeployed('grafana/pet-store-gateway.json')) as { panels: Panel[] }).panels;

/** Reads every query of the dashboard. */
export const readPanelQueries = (): PanelQuery[] =>
  readPanels().flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));

/** A recording rule or an alert. */
export interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export const readRules = (): Rule[] =>
  (parse(readDeployed('prometheus/rules.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
    ({ rules }) => rules,
  );

const NOT_METRICS = new Set(['and', 'or', 'unless', 'offset', 'bool']);
const CLAUSE = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g;

/** Returns the names of the metrics in a query of PromQL: what is no label, duration, function or keyword. */
export function metricsIn(expr: string): string[] {
  const names = expr
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, ' ')
    .replaceAll(CLAUSE, ' ')
    .matchAll(/(?<![\w$:.])[a-z][\w:]*\b(?!\s*\()/gi);
  return Array.from(names, ([name]) => name).filter((name) => !NOT_METRICS.has(name));
}

/** A sample that a query returns. */
interface QuerySample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Prometheus {
  /** Evaluates an expression now. Rejects if Prometheus finds an error in it. */
  query(expr: string): Promise<QuerySample[]>;
  /** Returns the errors of the rules by their names; undefined for a rule that was evaluated without one. */
  ruleErrors(): Promise<Record<string, string | undefined>>;
  stop(): Promise<void>;
}

/** Starts Prometheus with these files in one folder; `prometheus.yaml` is its configuration. */
export async function startPrometheus(
  files: Readonly<Record<string, string>>,
): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'store-prometheus-'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(PROMETHEUS, [
    `--config.file=${join(folder, 'prometheus.yaml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=${address}`,
  ]);
  const end = new Promise((resolve) => void child.once('close', resolve));
  let messages = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      messages += text;
      if (messages.includes('Server is ready to receive web requests')) resolve();
    });
    void end.then(() => reject(new Error(`Prometheus did not start:\n${messages}`)));
  });
  const get = async <Data>(path: string): Promise<Data> => {
    const response = await fetch(`http://${address}/api/v1/${path}`);
    const { data, error } = (await response.json()) as { data: Data; error?: string };
    if (error) throw new Error(error);
    return data;
  };
  return {
    query: async (expr) => {
      const { result } = await get<{
        result: { metric: Record<string, string>; value: [number, string] }[];
      }>(`query?query=${encodeURIComponent(expr)}`);
      return result.map(({ metric, value: [, value] }) => ({ metric, value: Number(value) }));
    },
    ruleErrors: async () => {
      const { groups } = await get<{
        groups: { rules: { name: string; health: string; lastError?: string }[] }[];
      }>('rules');
      const rules = groups.flatMap((group) => group.rules);
      return Object.fromEntries(
        rules.map(({ name, health, lastError }) => [
          name,
          health === 'ok' ? undefined : (lastError ?? health),
        ]),
      );
    },
    stop: async () => {
      child.kill('SIGTERM');
      await end;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
