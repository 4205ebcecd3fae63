// Writes schema.graphql, and the table of environment variables in docs/configuration.md: `npm run fix`.
import { readFileSync, writeFileSync } from 'node:fs';

import { z } from 'zod';

import { Variables } from '../src/gateway/config/variables.ts';
import { toDay } from '../src/gateway/kinds/times.ts';
import { printSchema } from '../src/gateway/schema/print.ts';
import { petStore } from '../src/store/index.ts';

const FILE = 'docs/configuration.md';
const BETWEEN_MARKERS = /(?<=<!-- variables -->\n\n).*(?=\n\n<!-- \/variables -->)/s;

/** Returns a variable's default as an operator would write it. */
function toDefault(variable: z.ZodType): string {
  if (!(variable instanceof z.ZodDefault)) return '';
  const { defaultValue } = variable.def;
  const text = defaultValue instanceof Date ? toDay(defaultValue) : String(defaultValue);
  return text && `\`${text}\``;
}

/** Returns a variable's description, with the allowed values or their range if they are limited. */
function toMeaning(variable: z.ZodDefault | z.ZodOptional): string {
  const { values } = z.globalRegistry.get(variable.unwrap()) ?? {};
  return `${variable.description}${typeof values === 'string' ? ` Values: ${values}.` : ''}`;
}

const toReason = (variable: z.ZodType): string =>
  String(z.globalRegistry.get(variable)?.['reason']);

const toRow = (cells: readonly string[], widths: readonly number[]): string =>
  `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;

/** Returns the table of environment variables, in Markdown. */
function printTable(): string {
  const rows = [
    ['variable', 'default', 'meaning', 'set it if'],
    ...Object.entries(Variables.shape).map(([name, variable]) => [
      `\`${name}\``,
      toDefault(variable),
      toMeaning(variable),
      toReason(variable),
    ]),
  ];
  const widths = [0, 1, 2, 3].map((column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const [head = '', ...others] = rows.map((row) => toRow(row, widths));
  const rule = toRow(
    widths.map((width) => '-'.repeat(width)),
    widths,
  );
  return [head, rule, ...others].join('\n');
}

/** Replaces the table between a document's two markers. */
export const withTable = (document: string): string =>
  document.replace(BETWEEN_MARKERS, () => printTable());

if (process.argv[1] === import.meta.filename) {
  writeFileSync('schema.graphql', printSchema(petStore.schema));
  writeFileSync(FILE, withTable(readFileSync(FILE, 'utf8')));
}
