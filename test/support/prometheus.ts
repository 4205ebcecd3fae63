import { readFileSync } from 'node:fs';

import { parse } from 'yaml';

import { ROOT } from '../../src/store/root.ts';

export const readDeployed = (file: string): string =>
  readFileSync(new URL(`deploy/${file}`, ROOT), 'utf8');

/** A panel of the dashboard; a row has no queries. */
export interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

export const readPanels = (): readonly Panel[] =>
  (JSON.parse(readDeployed('grafana/pet-store-gateway.json')) as { panels: Panel[] }).panels;

/** Reads every query of the dashboard, with the title of its panel. */
export const readPanelQueries = () =>
  readPanels().flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));

interface Rule {
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
